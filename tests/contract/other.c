/* A library of two GPUs that is not ours: handles are pointers, lists behave in the ways that nvml.h describes, and some answers are hostile.
 * Whatever changes a device, and the private table, end the process. */
#include <math.h>
#include <nvml.h>
#include <stdlib.h>
#include <string.h>

static int gpus[2];
static int stranger;
static unsigned calls;

#define HANDLE(number) ((nvmlDevice_t)(void *)&gpus[number])
#define ROOM(count, list, needed)                                  \
    if ((list) == NULL || *(count) < (needed)) {                   \
        *(count) = (needed);                                       \
        return NVML_ERROR_INSUFFICIENT_SIZE;                       \
    }                                                              \
    *(count) = (needed)

nvmlReturn_t nvmlInit_v2(void) { return NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count)
{
    *count = 3;
    return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
    if (index > 1)
        return index == 2 ? NVML_ERROR_GPU_IS_LOST : NVML_ERROR_INVALID_ARGUMENT;
    *device = HANDLE(index);
    return NVML_SUCCESS;
}

/* grows between one call and the next, up to five */
nvmlReturn_t nvmlDeviceGetSupportedMemoryClocks(nvmlDevice_t device, unsigned int *count, unsigned int *clocks)
{
    unsigned needed = 2 + calls++ % 4;
    (void)device;
    ROOM(count, clocks, needed);
    for (unsigned i = 0; i < needed; i++)
        clocks[i] = 1000 + i;
    return NVML_SUCCESS;
}
/* NULL asks for the length with SUCCESS */
nvmlReturn_t nvmlDeviceGetEncoderSessions(nvmlDevice_t device, unsigned int *count, nvmlEncoderSessionInfo_t *sessions)
{
    (void)device;
    if (sessions != NULL && *count >= 1) {
        sessions[0].sessionId = 7;
        sessions[0].codecType = NVML_ENCODER_QUERY_HEVC;
    }
    *count = 1;
    return NVML_SUCCESS;
}
/* refused where the list is NULL */
nvmlReturn_t nvmlSystemGetHicVersion(unsigned int *count, nvmlHwbcEntry_t *entries)
{
    if (entries == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    ROOM(count, entries, 1);
    strcpy(entries[0].firmwareVersion, "1.0\xff");
    return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetTopologyNearestGpus(nvmlDevice_t device, nvmlGpuTopologyLevel_t level, unsigned int *count, nvmlDevice_t *found)
{
    if (level == NVML_TOPOLOGY_INTERNAL)
        return NVML_ERROR_NOT_SUPPORTED;
    if (*count == 0) {
        *count = 1;
        return NVML_SUCCESS;
    }
    found[0] = device == HANDLE(0) ? HANDLE(1) : HANDLE(0);
    return NVML_SUCCESS;
}
/* says more than it was given room for */
nvmlReturn_t nvmlDeviceGetFBCSessions(nvmlDevice_t device, unsigned int *count, nvmlFBCSessionInfo_t *sessions)
{
    (void)device;
    if (sessions == NULL) {
        *count = 2;
        return NVML_ERROR_INSUFFICIENT_SIZE;
    }
    *count = 1u << 30;
    return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetAccountingPids(nvmlDevice_t device, unsigned int *count, unsigned int *pids)
{
    (void)device;
    (void)pids;
    *count = 0xFFFFFFFFu;
    return NVML_ERROR_INSUFFICIENT_SIZE;
}
nvmlReturn_t nvmlDeviceGetRunningProcessDetailList(nvmlDevice_t device, nvmlProcessDetailList_t *list)
{
    (void)device;
    if (list->version != nvmlProcessDetailList_v1)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    if (list->mode != NVML_PROCESS_MODE_COMPUTE)
        return NVML_ERROR_INVALID_ARGUMENT;
    ROOM(&list->numProcArrayEntries, list->procArray, 1);
    list->procArray[0].pid = 41;
    list->procArray[0].usedGpuMemory = 1ull << 40;
    return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetCpuAffinity(nvmlDevice_t device, unsigned int size, unsigned long *set)
{
    (void)device;
    for (unsigned i = 0; i < size; i++)
        set[i] = ~0ul - i;
    return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetSupportedPerformanceStates(nvmlDevice_t device, nvmlPstates_t *states, unsigned int size)
{
    (void)device;
    for (unsigned i = 0; i < size / sizeof *states; i++)
        states[i] = i < 2 ? (nvmlPstates_t)i : NVML_PSTATE_UNKNOWN;
    return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetSupportedVgpus(nvmlDevice_t device, unsigned int *count, nvmlVgpuTypeId_t *types)
{
    if (device != HANDLE(0))
        return NVML_ERROR_NOT_SUPPORTED;
    ROOM(count, types, 1);
    types[0] = 35;
    return NVML_SUCCESS;
}
/* as drivers did before there was a count to look at: writes to what the caller made beforehand */
nvmlReturn_t nvmlDeviceGetVgpuTypeSupportedPlacements(nvmlDevice_t device, nvmlVgpuTypeId_t type, nvmlVgpuPlacementList_t *list)
{
    (void)device;
    (void)type;
    list->placementSize = 4;
    list->count = 3;
    for (unsigned i = 0; i < list->count; i++)
        list->placementIds[i] = i * list->placementSize;
    return NVML_SUCCESS;
}
nvmlReturn_t nvmlVgpuTypeGetName(nvmlVgpuTypeId_t type, char *name, unsigned int *size)
{
    if (type != 35 || *size < 8)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    strcpy(name, "board-1");
    *size = 8;
    return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetVgpuSchedulerState(nvmlDevice_t device, nvmlVgpuSchedulerGetState_t *state)
{
    (void)device;
    state->schedulerPolicy = 2;
    state->schedulerParams.vgpuSchedDataWithARR.avgFactor = 33;
    state->schedulerParams.vgpuSchedDataWithARR.timeslice = 258;
    return NVML_SUCCESS;
}
nvmlReturn_t nvmlSystemGetDriverBranch(nvmlSystemDriverBranchInfo_t *info, unsigned int length)
{
    if (length > sizeof info->branch) /* writes as much as it was told */
        abort();
    memset(info->branch, 'r', length - 1);
    return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
    pci->bus = device == HANDLE(0) ? 1 : 2;
    if (device == HANDLE(0)) /* of the other GPU it writes no vendor */
        pci->pciDeviceId = 0x10de;
    strcpy(pci->busId, device == HANDLE(0) ? "00000000:01:00.0" : "00000000:02:00.0");
    return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceQueryDrainState(nvmlPciInfo_t *pci, nvmlEnableState_t *state)
{
    if (pci->bus == 0 || pci->busId[10] != '0' + (char)pci->bus)
        return NVML_ERROR_INVALID_ARGUMENT;
    *state = pci->bus == 2 ? NVML_FEATURE_ENABLED : NVML_FEATURE_DISABLED;
    return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t mig, nvmlDevice_t *device)
{
    *device = mig == HANDLE(0) ? HANDLE(0) : (nvmlDevice_t)(void *)&stranger;
    return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t one, nvmlDevice_t other, nvmlGpuP2PCapsIndex_t index, nvmlGpuP2PStatus_t *status)
{
    if (index >= NVML_P2P_CAPS_INDEX_UNKNOWN)
        return NVML_ERROR_INVALID_ARGUMENT;
    *status = one == other ? NVML_P2P_STATUS_UNKNOWN : NVML_P2P_STATUS_OK;
    return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned int link, nvmlEnableState_t *state)
{
    (void)device;
    *state = NVML_FEATURE_ENABLED;
    return link < 3 ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}
nvmlReturn_t nvmlDeviceGetNvLinkVersion(nvmlDevice_t device, unsigned int link, unsigned int *version)
{
    (void)device;
    *version = 5;
    return link < 3 ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}
nvmlReturn_t nvmlDeviceGetViolationStatus(nvmlDevice_t device, nvmlPerfPolicyType_t type, nvmlViolationTime_t *time)
{
    (void)device;
    (void)type;
    time->referenceTime = calls++; /* another one each time */
    time->violationTime = 12;
    return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t *values)
{
    (void)device;
    for (int i = 0; i < count; i++) {
        nvmlFieldValue_t *one = &values[i];
        one->timestamp = (long long)calls++;
        one->nvmlReturn = NVML_SUCCESS;
        one->valueType = (nvmlValueType_t)(one->fieldId % 9);
        one->value.ullVal = 0x8000000000000000ull + one->scopeId;
        if (one->fieldId == 9)
            one->value.dVal = 0.1;
        if (one->fieldId == 18)
            one->value.dVal = NAN;
        if (one->fieldId == 310)
            return NVML_ERROR_INVALID_ARGUMENT;
        if (one->fieldId == 10)
            one->nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
    }
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceSetPersistenceMode(nvmlDevice_t device, nvmlEnableState_t mode)
{
    (void)device;
    (void)mode;
    abort();
}
nvmlReturn_t nvmlDeviceClearEccErrorCounts(nvmlDevice_t device, nvmlEccCounterType_t type)
{
    (void)device;
    (void)type;
    abort();
}
nvmlReturn_t nvmlDeviceGetSamples(nvmlDevice_t device, nvmlSamplingType_t type, unsigned long long since, nvmlValueType_t *kind, unsigned int *count,
                                  nvmlSample_t *samples)
{
    (void)device, (void)type, (void)since, (void)kind, (void)count, (void)samples;
    abort();
}
nvmlReturn_t nvmlInternalGetExportTable(void **table, const void *id);
nvmlReturn_t nvmlInternalGetExportTable(void **table, const void *id)
{
    (void)table;
    (void)id;
    abort();
}
