/* The zero-config default: an image inside the library, with count, driver version, UUID and PCI place of the reference patched in (ledger A04,
 * A05, A14). */
#include "nvp.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

extern const unsigned char nvp_default_bytes[];
extern const uint64_t nvp_default_size;

#define DEFAULT_COUNT 8
#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)

/* A count of devices in text: digits alone, capped at what the device table holds. */
static bool parse_count(const char *text, unsigned int *count, bool *capped)
{
    unsigned long value = 0;
    if (text == NULL || *text == '\0')
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return false;
        value = value * 10 + (unsigned long)(*text - '0');
        if (value > NVP_MAX_DEVICES) {
            value = NVP_MAX_DEVICES;
            *capped = true;
        }
    }
    *count = (unsigned int)value;
    return true;
}

static struct nvp_field *field_of(unsigned char *record, unsigned int id)
{
    return (struct nvp_field *)(void *)(record + sizeof(struct nvp_record)) + id;
}

/* Variable data goes into the room that the caller left behind the record. */
static void set_text(unsigned char *record, unsigned int id, const char *text)
{
    struct nvp_record *head = (void *)record;
    struct nvp_field *field = field_of(record, id);
    const size_t length = strlen(text);
    memcpy(record + head->size, text, length);
    field->value = head->size;
    field->status = 0;
    field->extra = (uint32_t)length;
    head->size += (uint32_t)(length + 8) & ~7U;
}

static void set_number(unsigned char *record, unsigned int id, uint64_t value)
{
    struct nvp_field *field = field_of(record, id);
    field->value = value;
    field->status = 0;
}

static void patch_device(unsigned char *record, unsigned int index)
{
    char text[64];
    const unsigned int bus = (index + 1) & 0xff, domain = (index + 1) >> 8;
    snprintf(text, sizeof text, "GPU-4d4f434b-0000-0000-0000-%012u", index);
    set_text(record, NVP_F_uuid, text);
    snprintf(text, sizeof text, "%08X:%02X:00.0", domain, bus);
    set_text(record, NVP_F_pci_bus_id, text);
    snprintf(text, sizeof text, "%04X:%02X:00.0", domain, bus);
    set_text(record, NVP_F_pci_bus_id_legacy, text);
    set_number(record, NVP_F_pci_domain, domain);
    set_number(record, NVP_F_pci_bus, bus);
    set_number(record, NVP_F_pci_device, 0);
    set_number(record, NVP_F_pci_function, 0);
    set_number(record, NVP_F_minor_number, index);
    set_number(record, NVP_F_board_id, (uint64_t)domain << 16 | bus << 8);
}

static void patch_node(unsigned char *record, const char *driver)
{
    char text[128];
    set_text(record, NVP_S_system_driver_version, driver);
    snprintf(text, sizeof text, "12.%s", driver);
    set_text(record, NVP_S_system_nvml_version, text);
    snprintf(text, sizeof text, "r%.*s_00", (int)strcspn(driver, "."), driver);
    set_text(record, NVP_S_system_driver_branch, text);
}

/* A driver version that could be one: digits and dots, not longer than a line. */
static const char *driver_asked(void)
{
    const char *driver = nvp_environment("MOCK_NVML_DRIVER_VERSION");
    if (driver == NULL || (driver[0] >= '0' && driver[0] <= '9' && strspn(driver, "0123456789.") == strlen(driver) && strlen(driver) <= 32))
        return driver;
    nvp_refuse_variable("MOCK_NVML_DRIVER_VERSION", driver, "is no driver version: digits and dots, as 550.163.01, 32 at most", "the default's own is served");
    return NULL;
}

static unsigned int count_asked(void)
{
    const char *asked = nvp_environment("MOCK_NVML_NUM_DEVICES");
    unsigned int count = DEFAULT_COUNT;
    bool capped = false;
    if (asked != NULL && !parse_count(asked, &count, &capped))
        nvp_refuse_variable("MOCK_NVML_NUM_DEVICES", asked, "is no number of GPUs, 0 to " TEXT(NVP_MAX_DEVICES), "the default has " TEXT(DEFAULT_COUNT));
    if (capped)
        nvp_refuse_variable("MOCK_NVML_NUM_DEVICES", asked, "is no number of GPUs, 0 to " TEXT(NVP_MAX_DEVICES), "the default has " TEXT(NVP_MAX_DEVICES));
    return count;
}

/* A private copy: the head and tables as they are, then the node's record, then one record a device, each with room behind it. */
const struct nvp_image *nvp_image_default(void)
{
    const struct nvp_image *base = (const void *)nvp_default_bytes;
    if (nvp_default_size < sizeof *base) {
        nvp_say("this library was built without a default: name an image in NVPARITY_IMAGE or a profile in MOCK_NVML_CONFIG");
        return NULL;
    }
    const char *driver = driver_asked();
    const unsigned int count = count_asked();
    const struct nvp_device_entry *first = (const void *)(nvp_default_bytes + base->devices.offset);
    const uint64_t room = 512, tables = (base->size + 63) & ~63ULL, list = (count * sizeof(struct nvp_device_entry) + 63) & ~63ULL;
    const uint64_t node_size = (base->node.size + room + 63) & ~63ULL, device_size = (first->size + room + 63) & ~63ULL;
    const uint64_t size = tables + list + node_size + count * device_size;
    unsigned char *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED)
        return NULL;
    memcpy(bytes, nvp_default_bytes, base->size);
    struct nvp_image *image = (void *)bytes;
    unsigned char *node = bytes + tables + list;
    memcpy(node, nvp_default_bytes + base->node.record, base->node.size);
    if (driver)
        patch_node(node, driver);
    struct nvp_device_entry *entries = (void *)(bytes + tables);
    for (unsigned int i = 0; i < count; i++) {
        unsigned char *record = node + node_size + i * device_size;
        memcpy(record, nvp_default_bytes + first->record, first->size);
        patch_device(record, i);
        entries[i] = (struct nvp_device_entry){(uint32_t)(record - bytes), (uint32_t)device_size};
    }
    image->node = (struct nvp_device_entry){(uint32_t)(node - bytes), (uint32_t)node_size};
    image->devices = (struct nvp_table){(uint32_t)tables, count};
    image->device_count = count;
    image->size = size;
    image->crc = nvp_image_crc(bytes, size); /* what is patched is another image: a state is of one of them */
    mprotect(bytes, size, PROT_READ);
    return image;
}
