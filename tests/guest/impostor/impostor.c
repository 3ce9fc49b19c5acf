// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Somebody else's module, whose end function has the name of device mapper's. It reads a block of a
 * disk when it is loaded. What is around its bio is nothing of device mapper's.
 */
#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>

static char *disk;
module_param(disk, charp, 0444);
MODULE_PARM_DESC(disk, "the block device to read from");

struct around {
	char before[1024];
	struct bio bio;
	struct bio_vec part;
	struct completion done;
};

static noinline void clone_endio(struct bio *bio)
{
	complete(bio->bi_private);
}

static int read_block(struct block_device *bdev, struct around *around, struct page *page)
{
	memset(around->before, 0x5a, sizeof(around->before));
	init_completion(&around->done);
	bio_init(&around->bio, bdev, &around->part, 1, REQ_OP_READ);
	__bio_add_page(&around->bio, page, PAGE_SIZE, 0);
	around->bio.bi_end_io = clone_endio;
	around->bio.bi_private = &around->done;
	submit_bio(&around->bio);
	wait_for_completion(&around->done);
	return blk_status_to_errno(around->bio.bi_status);
}

static int __init impostor_init(void)
{
	struct file *file = bdev_file_open_by_path(disk, BLK_OPEN_READ, NULL, NULL);
	struct around *around = kzalloc(sizeof(*around), GFP_KERNEL);
	struct page *page = alloc_page(GFP_KERNEL);
	int ret = -ENOMEM;

	if (IS_ERR(file))
		ret = PTR_ERR(file);
	else if (around && page)
		ret = read_block(file_bdev(file), around, page);
	if (page)
		__free_page(page);
	kfree(around);
	if (!IS_ERR(file))
		bdev_fput(file);
	return ret;
}
module_init(impostor_init);

static void __exit impostor_exit(void)
{
}
module_exit(impostor_exit);

MODULE_DESCRIPTION("An end function with another's name");
MODULE_LICENSE("GPL");
