/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The load generator's PCI code: BARs, MSI-X, MMIO. See load.h.
 */
#include "qemu/osdep.h"
#include "exec/address-spaces.h"
#include "hw/pci/pci.h"

#include "load.h"

/* In the PCI hole of the machine "pc". The sink is on top of what is there. */
#define SINK_ADDR   0xd0000000u
#define FIRST_BAR   0xe0000000u
#define VECTOR_DATA 1

uint32_t load_read(hwaddr addr, unsigned size)
{
    uint32_t value = 0;

    address_space_read(&address_space_memory, addr, MEMTXATTRS_UNSPECIFIED,
                       &value, size);
    return le32_to_cpu(value);
}

void load_write(hwaddr addr, uint32_t value, unsigned size)
{
    AddressSpace *as = &address_space_memory;

    if (size == sizeof(uint32_t)) {
        address_space_stl_le(as, addr, value, MEMTXATTRS_UNSPECIFIED, NULL);
    } else {
        value = cpu_to_le32(value);
        address_space_write(as, addr, MEMTXATTRS_UNSPECIFIED, &value, size);
    }
}

hwaddr load_pci_bar(Load *load, unsigned bar, hwaddr offset)
{
    return load->pci->io_regions[bar].addr + offset;
}

static void config_write(Load *load, uint32_t addr, uint32_t value,
                         unsigned size)
{
    load->pci->config_write(load->pci, addr, value, size);
}

static void assign_bars(Load *load)
{
    unsigned i;

    load->next_bar = FIRST_BAR;
    for (i = 0; i < PCI_ROM_SLOT; i++) {
        PCIIORegion *region = &load->pci->io_regions[i];

        if (region->size && !(region->type & PCI_BASE_ADDRESS_SPACE_IO)) {
            load->next_bar = ROUND_UP(load->next_bar, region->size);
            config_write(load, PCI_BASE_ADDRESS_0 + 4 * i, load->next_bar, 4);
            load->next_bar += region->size;
        }
    }
    config_write(load, PCI_COMMAND,
                 PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER, 2);
}

/* Vector 0 is the admin queue's or the configuration's: it goes nowhere. */
static void enable_msix(Load *load)
{
    const uint8_t *cap = load->pci->config + load->pci->msix_cap;
    uint32_t table = pci_get_long(cap + PCI_MSIX_TABLE);
    hwaddr entry = load_pci_bar(load, table & PCI_MSIX_TABLE_BIR,
                                table & PCI_MSIX_TABLE_OFFSET);
    unsigned v;

    config_write(load, load->pci->msix_cap + PCI_MSIX_FLAGS,
                 PCI_MSIX_FLAGS_ENABLE, 2);
    for (v = 0; v <= load->nr_queues; v++, entry += PCI_MSIX_ENTRY_SIZE) {
        load_write(entry + PCI_MSIX_ENTRY_LOWER_ADDR,
                   SINK_ADDR + v * sizeof(uint32_t), 4);
        load_write(entry + PCI_MSIX_ENTRY_UPPER_ADDR, 0, 4);
        load_write(entry + PCI_MSIX_ENTRY_DATA, VECTOR_DATA, 4);
        load_write(entry + PCI_MSIX_ENTRY_VECTOR_CTRL, 0, 4);
    }
}

void load_pci_start(Load *load)
{
    memory_region_add_subregion_overlap(get_system_memory(), SINK_ADDR,
                                        &load->sink, 10);
    assign_bars(load);
    enable_msix(load);
}
