/* A library written by hand: two L4 that differ, forty functions, sensible values.  What a recording of it must hold is written by hand too, in
 * two_gpus.answers.txt.  GPU 0 computes, GPU 1 idles. */
#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <nvml.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define GPUS 2
#define MIB (1024ULL * 1024ULL)

static char gpus[GPUS];
static int started;

static int number_of(nvmlDevice_t device)
{
    uintptr_t place = (uintptr_t)device - (uintptr_t)gpus;
    return place < GPUS ? (int)place : -1;
}

static nvmlReturn_t bad(nvmlDevice_t device, const void *out)
{
    if (!started)
        return NVML_ERROR_UNINITIALIZED;
    return number_of(device) < 0 || !out ? NVML_ERROR_INVALID_ARGUMENT : NVML_SUCCESS;
}

/* A number for each GPU. */
#define NUMBER(function, type, first, second)                      \
    nvmlReturn_t function(nvmlDevice_t device, type *out)          \
    {                                                              \
        static const type numbers[GPUS] = {first, second};         \
        nvmlReturn_t code = bad(device, out);                      \
        if (code == NVML_SUCCESS)                                  \
            *out = numbers[number_of(device)];                     \
        return code;                                               \
    }

/* A code instead of one. */
#define REFUSED(function, type, refusal)                           \
    nvmlReturn_t function(nvmlDevice_t device, type *out)          \
    {                                                              \
        nvmlReturn_t code = bad(device, out);                      \
        return code == NVML_SUCCESS ? (refusal) : code;            \
    }

static nvmlReturn_t give(nvmlReturn_t code, const char *text, char *out, unsigned int length)
{
    if (code != NVML_SUCCESS)
        return code;
    if (length <= strlen(text))
        return NVML_ERROR_INSUFFICIENT_SIZE;
    strcpy(out, text);
    return NVML_SUCCESS;
}

/* A text for each GPU. */
#define TEXT(function, first, second)                                             \
    nvmlReturn_t function(nvmlDevice_t device, char *out, unsigned int length)    \
    {                                                                             \
        static const char *const texts[GPUS] = {first, second};                   \
        nvmlReturn_t code = bad(device, out);                                     \
        return code ? code : give(code, texts[number_of(device)], out, length);   \
    }

nvmlReturn_t nvmlInit_v2(void)
{
    started++;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlShutdown(void)
{
    if (!started)
        return NVML_ERROR_UNINITIALIZED;
    started--;
    return NVML_SUCCESS;
}

const char *nvmlErrorString(nvmlReturn_t result)
{
    return result == NVML_SUCCESS ? "Success" : result == NVML_ERROR_NOT_SUPPORTED ? "Not Supported" : "Another error";
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length)
{
    return give(started ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED, "550.163.01", version, length);
}

nvmlReturn_t nvmlSystemGetNVMLVersion(char *version, unsigned int length)
{
    return give(started ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED, "12.550.163.01", version, length);
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    *version = 12040;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count)
{
    *count = GPUS;
    return started ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
    if (index >= GPUS)
        return NVML_ERROR_INVALID_ARGUMENT;
    *device = (nvmlDevice_t)(void *)&gpus[index];
    return NVML_SUCCESS;
}

NUMBER(nvmlDeviceGetIndex, unsigned int, 0, 1)
NUMBER(nvmlDeviceGetMinorNumber, unsigned int, 0, 1)
NUMBER(nvmlDeviceGetBrand, nvmlBrandType_t, NVML_BRAND_NVIDIA, NVML_BRAND_NVIDIA)
NUMBER(nvmlDeviceGetArchitecture, nvmlDeviceArchitecture_t, NVML_DEVICE_ARCH_ADA, NVML_DEVICE_ARCH_ADA)
NUMBER(nvmlDeviceGetNumGpuCores, unsigned int, 7424, 7424)
NUMBER(nvmlDeviceGetPowerUsage, unsigned int, 71330, 12870)
NUMBER(nvmlDeviceGetEnforcedPowerLimit, unsigned int, 72000, 72000)
NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, unsigned int, 72000, 72000)
NUMBER(nvmlDeviceGetPerformanceState, nvmlPstates_t, NVML_PSTATE_0, NVML_PSTATE_8)
NUMBER(nvmlDeviceGetPersistenceMode, nvmlEnableState_t, NVML_FEATURE_ENABLED, NVML_FEATURE_DISABLED)
NUMBER(nvmlDeviceGetComputeMode, nvmlComputeMode_t, NVML_COMPUTEMODE_DEFAULT, NVML_COMPUTEMODE_EXCLUSIVE_PROCESS)
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, unsigned int, 16, 8)
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, unsigned int, 4, 1)
NUMBER(nvmlDeviceGetTotalEnergyConsumption, unsigned long long, 8123456789ULL, 18446744073709551615ULL)
NUMBER(nvmlDeviceGetDisplayActive, nvmlEnableState_t, NVML_FEATURE_DISABLED, NVML_FEATURE_DISABLED)
REFUSED(nvmlDeviceGetFanSpeed, unsigned int, NVML_ERROR_NOT_SUPPORTED)
REFUSED(nvmlDeviceGetNumFans, unsigned int, NVML_ERROR_UNKNOWN)
REFUSED(nvmlDeviceGetBoardId, unsigned int, number_of(device) ? NVML_ERROR_GPU_IS_LOST : NVML_ERROR_NO_PERMISSION)
TEXT(nvmlDeviceGetName, "NVIDIA L4", "NVIDIA L4 \xe9")
TEXT(nvmlDeviceGetVbiosVersion, "95.04.12.00.01", "95.04.29.00.05")
TEXT(nvmlDeviceGetBoardPartNumber, "900-00000-0000-001", "")

nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device, nvmlEnableState_t *current, nvmlEnableState_t *pending)
{
    nvmlReturn_t code = bad(device, current);
    if (code == NVML_SUCCESS) {
        *current = NVML_FEATURE_ENABLED;
        *pending = number_of(device) ? NVML_FEATURE_DISABLED : NVML_FEATURE_ENABLED;
    }
    return code;
}

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int *current, unsigned int *pending)
{
    (void)pending;
    nvmlReturn_t code = bad(device, current);
    return code == NVML_SUCCESS ? NVML_ERROR_NOT_SUPPORTED : code;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
    nvmlReturn_t code = bad(device, memory);
    if (code == NVML_SUCCESS) {
        memory->total = 23034 * MIB;
        memory->used = number_of(device) ? 1 * MIB : 4321 * MIB;
        memory->free = memory->total - memory->used;
    }
    return code;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory)
{
    nvmlReturn_t code = bad(device, memory);
    if (code == NVML_SUCCESS && memory->version != nvmlMemory_v2)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    if (code == NVML_SUCCESS) {
        memory->total = 23034 * MIB;
        memory->reserved = 512 * MIB;
        memory->used = number_of(device) ? 0 : 3809 * MIB;
        memory->free = memory->total - memory->reserved - memory->used;
    }
    return code;
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *utilization)
{
    nvmlReturn_t code = bad(device, utilization);
    if (code == NVML_SUCCESS) {
        utilization->gpu = number_of(device) ? 0 : 98;
        utilization->memory = number_of(device) ? 0 : 41;
    }
    return code;
}

nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned int *clock)
{
    static const unsigned int clocks[GPUS][NVML_CLOCK_COUNT] = {{2040, 2040, 6251, 1770}, {210, 210, 405, 765}};
    nvmlReturn_t code = bad(device, clock);
    if (code == NVML_SUCCESS && (unsigned int)type >= NVML_CLOCK_COUNT)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (code == NVML_SUCCESS)
        *clock = clocks[number_of(device)][type];
    return code;
}

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t sensor, unsigned int *temperature)
{
    nvmlReturn_t code = bad(device, temperature);
    if (code == NVML_SUCCESS && sensor != NVML_TEMPERATURE_GPU)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (code == NVML_SUCCESS)
        *temperature = number_of(device) ? 31 : 76;
    return code;
}

nvmlReturn_t nvmlDeviceGetInforomVersion(nvmlDevice_t device, nvmlInforomObject_t object, char *version, unsigned int length)
{
    static const char *const versions[] = {"2.1", "6.16", NULL};
    nvmlReturn_t code = bad(device, version);
    if (code == NVML_SUCCESS && (unsigned int)object >= NVML_INFOROM_COUNT)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (code == NVML_SUCCESS && ((unsigned int)object >= 3 || !versions[object]))
        return NVML_ERROR_NOT_SUPPORTED;
    return code ? code : give(code, versions[object], version, length);
}

static nvmlReturn_t list(nvmlReturn_t code, const unsigned int *numbers, unsigned int length, unsigned int *count, unsigned int *out)
{
    if (code != NVML_SUCCESS)
        return code;
    unsigned int room = *count;
    *count = length;
    if (room < length || !out)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    memcpy(out, numbers, length * sizeof *numbers);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetSupportedMemoryClocks(nvmlDevice_t device, unsigned int *count, unsigned int *clocks)
{
    static const unsigned int numbers[] = {6251, 405};
    return list(bad(device, count), numbers, 2, count, clocks);
}

nvmlReturn_t nvmlDeviceGetSupportedGraphicsClocks(nvmlDevice_t device, unsigned int memory, unsigned int *count, unsigned int *clocks)
{
    static const unsigned int fast[] = {2040, 2025, 2010}, slow[] = {645};
    if (memory == 6251)
        return list(bad(device, count), fast, 3, count, clocks);
    return memory == 405 ? list(bad(device, count), slow, 1, count, clocks) : NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_t *infos)
{
    nvmlReturn_t code = bad(device, count);
    if (code != NVML_SUCCESS)
        return code;
    unsigned int room = *count;
    *count = number_of(device) ? 0 : 2;
    if (room < *count)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    for (unsigned int i = 0; i < *count; i++)
        infos[i] = (nvmlProcessInfo_t){4100 + i, (1200 + i) * MIB, 0xffffffff, 0xffffffff};
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t device, nvmlDevice_t other, nvmlGpuP2PCapsIndex_t index, nvmlGpuP2PStatus_t *status)
{
    nvmlReturn_t code = bad(device, status);
    if (code == NVML_SUCCESS && number_of(other) < 0)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (code == NVML_SUCCESS)
        *status = index == NVML_P2P_CAPS_INDEX_NVLINK ? NVML_P2P_STATUS_NOT_SUPPORTED : NVML_P2P_STATUS_CHIPSET_NOT_SUPPORTED;
    return code;
}

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int valuesCount, nvmlFieldValue_t *values)
{
    nvmlReturn_t code = bad(device, values);
    for (int i = 0; code == NVML_SUCCESS && i < valuesCount; i++) {
        values[i].nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
        if (values[i].fieldId == NVML_FI_DEV_POWER_INSTANT && values[i].scopeId == NVML_POWER_SCOPE_GPU) {
            values[i].nvmlReturn = NVML_SUCCESS;
            values[i].valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
            values[i].value.uiVal = number_of(device) ? 12870 : 71330;
        }
    }
    return code;
}
