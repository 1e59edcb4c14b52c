/* What NVML says of a GPU's NVLinks as a whole: encryption, firmware, reduced bandwidth. */
#include "nvp.h"

/* One entry of nvlink.firmware: which microcontroller (NVML_NVLINK_FIRMWARE_UCODE_TYPE_*), and its version. */
struct firmware {
    uint32_t kind;
    uint32_t major;
    uint32_t minor;
    uint32_t sub;
};

static nvmlReturn_t firmware(const struct nvp_device *device, nvmlNvlinkFirmwareInfo_t *info)
{
    const unsigned int room = sizeof info->firmwareVersion / sizeof *info->firmwareVersion;
    nvmlReturn_t code;
    NVP_READ_BEGIN(device)
        const void *items = NULL;
        uint64_t number = 0;
        code = nvp_list_in(device, nvp_half, NVP_F_nvlink_firmware, sizeof(struct firmware), &items, &number);
        if (code != NVML_SUCCESS || number > room)
            number = code != NVML_SUCCESS ? 0 : room;
        memset(info, 0, sizeof *info);
        info->numValidEntries = (unsigned int)number;
        for (uint64_t i = 0; i < number; i++) {
            struct firmware one;
            memcpy(&one, (const unsigned char *)items + i * sizeof one, sizeof one);
            info->firmwareVersion[i].ucodeType = (unsigned char)one.kind;
            info->firmwareVersion[i].major = one.major;
            info->firmwareVersion[i].minor = one.minor;
            info->firmwareVersion[i].subMinor = one.sub;
        }
    NVP_READ_END(device)
    return code;
}

/* The first version of the struct ends behind the encryption; a board whose firmware is not told has none of it in the list (ledger S19). */
nvmlReturn_t nvp_h_link_info(const struct nvp_device *device, nvmlNvLinkInfo_t *info)
{
    uint64_t encrypted = 0;
    nvmlReturn_t code = nvp_number(device, NVP_F_nvlink_nvle_enabled, &encrypted);
    if (code == NVML_SUCCESS && info->version != nvmlNvLinkInfo_v1)
        code = firmware(device, &info->firmwareInfo);
    if (code == NVML_SUCCESS)
        info->isNvleEnabled = (unsigned int)encrypted;
    return code;
}

/* NVLINK_BW modes of a GPU as bytes, the rest of the array 0. */
nvmlReturn_t nvp_h_link_bw_modes(const struct nvp_device *device, nvmlNvlinkSupportedBwModes_t *modes)
{
    nvmlReturn_t code;
    NVP_READ_BEGIN(device)
        const void *items = NULL;
        uint64_t number = 0;
        code = nvp_list_in(device, nvp_half, NVP_F_nvlink_bw_mode_supported, sizeof(uint32_t), &items, &number);
        if (code == NVML_SUCCESS) {
            if (number > NVML_NVLINK_TOTAL_SUPPORTED_BW_MODES)
                number = NVML_NVLINK_TOTAL_SUPPORTED_BW_MODES;
            memset(modes->bwModes, 0, sizeof modes->bwModes);
            for (uint64_t i = 0; i < number; i++) {
                uint32_t mode;
                memcpy(&mode, (const unsigned char *)items + i * sizeof mode, sizeof mode);
                modes->bwModes[i] = (unsigned char)mode;
            }
            modes->totalBwModes = (unsigned char)number;
        }
    NVP_READ_END(device)
    return code;
}

nvmlReturn_t nvp_h_link_bw_mode(const struct nvp_device *device, nvmlNvlinkGetBwMode_t *mode)
{
    const uint16_t ids[] = {NVP_F_nvlink_bw_mode_mode, NVP_F_nvlink_bw_mode_best};
    uint64_t values[2];
    const nvmlReturn_t code = nvp_resolve(device, ids, 2, values);
    if (code == NVML_SUCCESS) {
        mode->bwMode = (unsigned char)values[0];
        mode->bIsBest = values[0] == values[1];
    }
    return code;
}

nvmlReturn_t nvp_h_system_bw_mode(unsigned int *mode)
{
    uint64_t value = 0;
    const nvmlReturn_t code = nvp_number(&nvp_node, NVP_S_nvlink_node_bw_mode_mode, &value);
    if (code == NVML_SUCCESS)
        *mode = (unsigned int)value;
    return code;
}
