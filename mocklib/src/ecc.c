/* What health agents ask beside the counters: the SRAM errors by unit, and whether the InfoROM is sound. */
#include "nvp.h"

/* The units of an SRAM by their number: no header says it, so it is the order of the sources in nvmlEccSramErrorStatus_t. */
static const uint16_t sources[] = {NVP_F_ecc_sram_uncorrectable_sources_l2, NVP_F_ecc_sram_uncorrectable_sources_sm,
                                   NVP_F_ecc_sram_uncorrectable_sources_pcie, NVP_F_ecc_sram_uncorrectable_sources_microcontroller,
                                   NVP_F_ecc_sram_uncorrectable_sources_other};
#define SOURCES (sizeof sources / sizeof sources[0])

/* One entry for each unit that had an error (ledger L16); where within it, and whether it was a parity error, is not told and 0. */
nvmlReturn_t nvp_h_sram_unique_errors(const struct nvp_device *device, nvmlEccSramUniqueUncorrectedErrorCounts_t *counts)
{
    uint64_t architecture, values[SOURCES];
    nvmlReturn_t code = nvp_number(device, NVP_F_architecture, &architecture);
    if (code == NVML_SUCCESS && (architecture < NVML_DEVICE_ARCH_BLACKWELL || architecture == NVML_DEVICE_ARCH_UNKNOWN))
        code = NVML_ERROR_NOT_SUPPORTED;
    if (code == NVML_SUCCESS)
        code = nvp_resolve(device, sources, SOURCES, values);
    if (code != NVML_SUCCESS)
        return code;
    unsigned int number = 0;
    for (unsigned int i = 0; i < SOURCES; i++)
        number += values[i] != 0;
    code = nvp_room(&counts->entryCount, counts->entries, number);
    for (unsigned int i = 0, at = 0; code == NVML_SUCCESS && i < SOURCES; i++)
        if (values[i])
            counts->entries[at++] = (nvmlEccSramUniqueUncorrectedErrorEntry_v1_t){.unit = i, .count = (unsigned int)values[i]};
    return code;
}

/* Sound wherever there is an InfoROM, which is where it has a checksum (ledger L22). */
nvmlReturn_t nvp_h_validate_inforom(const struct nvp_device *device)
{
    uint64_t checksum;
    return nvp_number(device, NVP_F_inforom_configuration_checksum, &checksum);
}
