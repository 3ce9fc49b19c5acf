// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where a member of one of the kernel's own structures is, by the kernel's own description.
 *
 * Some structures are private to a file of the kernel, so no header says what they look like. The
 * kernel describes all its types in /sys/kernel/btf/vmlinux (Documentation/bpf/btf.rst). A member
 * counts as found only if structure, member and type have the names that are expected.
 */
#include <linux/bits.h>
#include <linux/btf.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "cint-hints.h"

#define DIRECTORY "/sys/kernel/btf/"

/*
 * What one file describes. That of a module goes on where the kernel's own ends: its types have the
 * numbers, and its strings the offsets, after those of @base.
 */
struct types {
	const struct types *base;
	void *data;
	const char *strings;
	u32 first_string, strings_len;
	const void *begin, *end;
	const struct btf_type **by_id;	/* without those of @base */
	u32 first, count;
	bool to_the_end;		/* else there are more types than can be read */
};

static const char *text(const struct types *all, u32 offset)
{
	if (offset < all->first_string)
		return text(all->base, offset);
	offset -= all->first_string;
	return offset < all->strings_len ? all->strings + offset : "";
}

static const struct btf_type *type_of(const struct types *all, u32 id)
{
	if (id < all->first)
		return all->base ? type_of(all->base, id) : NULL;
	id -= all->first;
	return id < all->count ? all->by_id[id] : NULL;
}

/* Bytes that follow a type; negative: a kind that is not known, so nothing after it can be read. */
static int trailer(const struct btf_type *type)
{
	const u32 n = BTF_INFO_VLEN(type->info);

	switch (BTF_INFO_KIND(type->info)) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return sizeof(u32);
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return n * sizeof(struct btf_member);
	case BTF_KIND_ENUM:
		return n * sizeof(struct btf_enum);
	case BTF_KIND_ENUM64:
		return n * sizeof(struct btf_enum64);
	case BTF_KIND_FUNC_PROTO:
		return n * sizeof(struct btf_param);
	case BTF_KIND_DATASEC:
		return n * sizeof(struct btf_var_secinfo);
	case BTF_KIND_PTR:
	case BTF_KIND_FWD:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case BTF_KIND_FLOAT:
	case BTF_KIND_TYPE_TAG:
		return 0;
	default:
		return -EINVAL;
	}
}

/* The type at @at with all that belongs to it, or NULL: the end, or what cannot be read. */
static const struct btf_type *whole_type(const struct types *all, const void *at)
{
	const struct btf_type *type = at;
	int more;

	if (all->end - at < (ptrdiff_t)sizeof(*type))
		return NULL;
	more = trailer(type);
	return more < 0 || more > all->end - at - (ptrdiff_t)sizeof(*type) ? NULL : type;
}

/* The type after this one, likewise. */
static const struct btf_type *next_type(const struct types *all, const struct btf_type *type)
{
	const void *at = type + 1;

	return whole_type(all, at + trailer(type));
}

static int parse(struct types *all, size_t size)
{
	const struct btf_header *header = all->data;
	const struct btf_type *type;
	u64 types, strings;
	u32 count = 0;

	if (size < sizeof(*header) || header->magic != BTF_MAGIC)
		return -EINVAL;
	types = (u64)header->hdr_len + header->type_off;
	strings = (u64)header->hdr_len + header->str_off;
	if (types + header->type_len > size || strings + header->str_len > size ||
	    header->type_len < sizeof(*type) || !header->str_len ||
	    ((const char *)all->data)[strings + header->str_len - 1])
		return -EINVAL;

	all->begin = all->data + types;
	all->end = all->begin + header->type_len;
	all->strings = all->data + strings;
	all->strings_len = header->str_len;
	for (type = whole_type(all, all->begin); type; type = next_type(all, type))
		count++;
	if (!count)
		return -EINVAL;
	all->by_id = kvcalloc(count, sizeof(*all->by_id), GFP_KERNEL);
	if (!all->by_id)
		return -ENOMEM;
	for (type = whole_type(all, all->begin); type; type = next_type(all, type))
		all->by_id[all->count++] = type;
	type = all->by_id[count - 1];
	all->to_the_end = (const void *)(type + 1) + trailer(type) == all->end;
	return 0;
}

static void close_types(struct types *all)
{
	kvfree(all->by_id);
	vfree(all->data);
}

/* The whole of a file whose size is known, as those of sysfs that hold binary data. */
static int read_file(const char *path, void **data, size_t *size)
{
	struct file *file = filp_open(path, O_RDONLY, 0);
	loff_t at = 0;
	ssize_t got = -ENOMEM;

	if (IS_ERR(file))
		return PTR_ERR(file);
	*size = i_size_read(file_inode(file));
	if (!*size) {
		filp_close(file, NULL);
		return -ENODATA;
	}
	*data = vmalloc(*size);
	while (*data && at < *size) {
		got = kernel_read(file, *data + at, *size - at, &at);
		if (got <= 0)
			break;
	}
	filp_close(file, NULL);
	if (*data && at == *size)
		return 0;
	vfree(*data);
	return got < 0 ? got : -EIO;
}

/* @base: the kernel's own, or NULL for these. Nothing is to be closed after an error. */
static int open_types(struct types *all, const char *name, const struct types *base)
{
	char path[sizeof(DIRECTORY) + MODULE_NAME_LEN];
	size_t size;
	int ret;

	/* The numbers of a module's types go on from the kernel's last one. */
	if (base && !base->to_the_end)
		return -EOPNOTSUPP;
	*all = (struct types) {
		.base = base,
		.first_string = base ? base->first_string + base->strings_len : 0,
		.first = base ? base->first + base->count : 1,	/* type 0 is void */
	};
	snprintf(path, sizeof(path), DIRECTORY "%s", name);
	ret = read_file(path, &all->data, &size);
	if (ret)
		return ret;
	ret = parse(all, size);
	if (ret)
		close_types(all);
	return ret;
}

/*
 * Whether a type is what is expected: the one of that name, or for "*name" a pointer to it. "*" is
 * a pointer to anything.
 */
static bool is_called(const struct types *all, u32 id, const char *name)
{
	const struct btf_type *type = type_of(all, id);

	if (*name == '*') {
		if (!type || BTF_INFO_KIND(type->info) != BTF_KIND_PTR)
			return false;
		type = type_of(all, type->type);
		name++;
		if (!*name)
			return true;
	}
	return type && !strcmp(text(all, type->name_off), name);
}

/*
 * Bytes from the beginning of @type to the member, also one of a struct or union without a name in
 * it; negative if there is none. @depth bounds how deep they nest.
 */
static int find_member(const struct types *all, const struct btf_type *type,
		       const struct layout *row, int depth)
{
	const struct btf_member *member = (const void *)(type + 1);
	const bool fields = BTF_INFO_KFLAG(type->info);
	u32 i;

	for (i = 0; i < BTF_INFO_VLEN(type->info); i++, member++) {
		const u32 bits = fields ? BTF_MEMBER_BIT_OFFSET(member->offset) : member->offset;
		const struct btf_type *inner = type_of(all, member->type);
		int found;

		if (fields && BTF_MEMBER_BITFIELD_SIZE(member->offset))
			continue;
		if (!strcmp(text(all, member->name_off), row->member))
			return is_called(all, member->type, row->type) ? bits / 8 : -EINVAL;
		if (member->name_off || !depth || !inner ||
		    (BTF_INFO_KIND(inner->info) != BTF_KIND_UNION &&
		     BTF_INFO_KIND(inner->info) != BTF_KIND_STRUCT))
			continue;
		found = find_member(all, inner, row, depth - 1);
		if (found >= 0)
			return bits / 8 + found;
	}
	return -ENOENT;
}

/* What is built in is described by the kernel, so that has rows of all modules. */
static bool is_of(const struct layout *row, const char *module)
{
	return !module || (row->module && !strcmp(row->module, module));
}

/* Two structures of one name that differ: nobody knows which one is meant. */
static void found_row(struct layout *row, int offset)
{
	if (row->offset != -ENOENT && row->offset != LAYOUT_LATER && row->offset != offset)
		offset = -EINVAL;
	WRITE_ONCE(row->offset, offset);
}

static void find_rows(const struct types *all, struct layout *rows, unsigned int count,
		      const char *module)
{
	unsigned int i;
	u32 n;

	for (n = 0; n < all->count; n++) {
		const struct btf_type *type = all->by_id[n];

		if (BTF_INFO_KIND(type->info) != BTF_KIND_STRUCT)
			continue;
		for (i = 0; i < count; i++)
			if (is_of(&rows[i], module) &&
			    !strcmp(text(all, type->name_off), rows[i].structure))
				found_row(&rows[i], find_member(all, type, &rows[i], 2));
	}
}

int layout_find(struct layout *rows, unsigned int count, const char *module)
{
	struct types kernel, own;
	unsigned int i;
	int ret;

	for (i = 0; i < count; i++)
		if (is_of(&rows[i], module))
			WRITE_ONCE(rows[i].offset,
				   rows[i].module && !module ? LAYOUT_LATER : -ENOENT);
	ret = open_types(&kernel, "vmlinux", NULL);
	if (ret)
		return ret;
	if (!module) {
		find_rows(&kernel, rows, count, NULL);
	} else {
		ret = open_types(&own, module, &kernel);
		if (!ret) {
			find_rows(&own, rows, count, module);
			close_types(&own);
		}
	}
	close_types(&kernel);
	return ret;
}

bool layout_is_described(const char *module)
{
	char path[sizeof(DIRECTORY) + MODULE_NAME_LEN];
	struct file *file;

	snprintf(path, sizeof(path), DIRECTORY "%s", module);
	file = filp_open(path, O_RDONLY, 0);
	if (IS_ERR(file))
		return false;
	filp_close(file, NULL);
	return true;
}

/* Whether a typedef is of a pointer to a function of void *, and then of these. */
static bool takes(const struct types *all, const struct btf_type *type,
		  const char * const *arguments)
{
	const struct btf_param *param;
	unsigned int count = 0;
	unsigned int i;

	while (arguments[count])
		count++;
	type = type_of(all, type->type);
	if (!type || BTF_INFO_KIND(type->info) != BTF_KIND_PTR)
		return false;
	type = type_of(all, type->type);
	if (!type || BTF_INFO_KIND(type->info) != BTF_KIND_FUNC_PROTO ||
	    BTF_INFO_VLEN(type->info) != count + 1)
		return false;
	param = (const void *)(type + 1);
	for (i = 0; i < count; i++)
		if (!is_called(all, param[i + 1].type, arguments[i]))
			return false;
	return true;
}

static bool has_tracepoint(const struct types *all, const char *typedef_name,
			   const char * const *arguments)
{
	u32 n;

	for (n = 0; n < all->count; n++) {
		const struct btf_type *type = all->by_id[n];

		if (BTF_INFO_KIND(type->info) == BTF_KIND_TYPEDEF &&
		    !strcmp(text(all, type->name_off), typedef_name))
			return takes(all, type, arguments);
	}
	return false;
}

bool layout_tracepoint(const char *module, const char *name, const char * const *arguments)
{
	struct types kernel, own;
	char typedef_name[64];
	bool found;

	snprintf(typedef_name, sizeof(typedef_name), "btf_trace_%s", name);
	if (open_types(&kernel, "vmlinux", NULL))
		return false;
	if (!module) {
		found = has_tracepoint(&kernel, typedef_name, arguments);
	} else if (open_types(&own, module, &kernel)) {
		found = false;
	} else {
		found = has_tracepoint(&own, typedef_name, arguments);
		close_types(&own);
	}
	close_types(&kernel);
	return found;
}
