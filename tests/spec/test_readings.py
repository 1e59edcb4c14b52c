"""Ledger G, K and T: temperature, performance state, utilization and media, fabric and its health."""

from __future__ import annotations

import pytest

from tests.spec import serving
from tests.spec.serving import Case, Node

D = "nvmlDevice"
THERMAL = "thermal: {temperature_gpu_c: 41, temperature_memory_c: 55, shutdown_threshold_c: 95, slowdown_threshold_c: 92, max_operating_c: 87}"
OLD, NEW = f"architecture: ampere, {THERMAL}", f"architecture: hopper, {THERMAL}"
LIMIT = f"{D}GetTemperatureThreshold thresholdType"
MARGIN = f"{D}GetMarginTemperature marginTempInfo.version=1"
MEDIA = "utilization: {gpu: 30, memory: 20, encoder: 5, decoder: 6, jpeg: 7, ofa: 8}"
ENCODER = "encoder_stats: {session_count: 2, average_fps: 60, average_latency_us: 1500}"
FBC = "fbc_stats: {session_count: 1, average_fps: 30, average_latency_us: 900}"
SESSIONS = ("encoder_stats: {sessions: [{id: 31, pid: 700, average_fps: 60}, {id: 32, pid: 700, average_fps: 30}]}, "
            "fbc_stats: {sessions: [{id: 5, pid: 701}]}")  # fmt: skip
V2, V3 = (f"{D}GetGpuFabricInfoV gpuFabricInfo.version={version}" for version in (2, 3))
CLUSTER = "0a0b0c0d-0102-0304-0506-0708090a0b0c"
FABRIC = f"fabric: {{cluster_uuid: '{CLUSTER}', clique_id: 5, state: completed, health: "


def health(**conditions: str) -> str:
    """The keys of a fabric in which these conditions hold and no other."""
    whole = dict.fromkeys(("degraded_bandwidth", "route_recovery", "route_unhealthy", "access_timeout_recovery"), "false") | conditions
    return FABRIC + "{" + ", ".join(f"{name}: {value}" for name, value in whole.items()) + "}}"


HEALTHY = 2 | 2 << 2 | 2 << 4 | 2 << 6
"""Each of the four conditions told to be absent; nothing is told of the configuration."""
MISCONFIGURED = {"none": "None", "incorrect_sysguid": "Incorrect SysGUID", "incorrect_chassis_sn": "Incorrect Chassis SN",
                 "no_partition": "No Partition", "insufficient_nvlinks": "Insufficient Nvlinks", "incompatible_gpu_fw": "Incompatible GPU FW",
                 "invalid_location": "Invalid Location", "gpu_state_invalid": "GPU State Invalid"}  # fmt: skip
UNTOLD = dict.fromkeys((f"fabric/health/{name}" for name in ("summary", "bandwidth", "route_recovery_in_progress", "route_unhealthy",
                                                            "access_timeout_recovery", "incorrect_configuration")), "N/A")  # fmt: skip
CASES = [
    Case("G01", OLD, {f"{D}GetTemperature sensorType=0": {"temp": 41},
                      f"{D}GetTemperatureV temperature.version=1 temperature.sensorType=0": {"temperature.temperature": 41},
                      f"{D}GetThermalSettings sensorIndex=0": {"pThermalSettings.count": 1}}, {"temperature/gpu_temp": "41 C"}),
    Case("G01", OLD, {f"{D}GetTemperatureV temperature.version=0 temperature.sensorType=0": 25}),
    Case("G01", "dynamic_metrics: {temperature: {base_c: 50}}", {f"{D}GetTemperature sensorType=0": {"temp": 50}}, {"temperature/gpu_temp": "50 C"}),
    *(Case("G07", f"{word}{THERMAL}", {"field 193": "code 3", "field 194": "code 3", "field 196": "code 3", MARGIN: 3}) for word in
      ("architecture: turing, ", "architecture: kepler, ")),
    Case("G07", f"architecture: ada, {THERMAL}", {"field 193": -3, "field 194": 0, "field 196": 5, MARGIN: 0}),
    Case("G01", "", {f"{D}GetTemperature sensorType=0": 3}, {"temperature/gpu_temp": "N/A"}),
    Case("G02", OLD, {"field 82": 55}, {"temperature/memory_temp": "55 C"}),
    Case("G02", "thermal: {temperature_gpu_c: 41}", {"field 82": "code 3"}, {"temperature/memory_temp": "N/A"}),
    Case("G03", OLD, {f"{LIMIT}=0": {"temp": 95}}, {"temperature/gpu_temp_max_threshold": "95 C"}),
    Case("G03", NEW, {"field 193": -3}, {"temperature/gpu_temp_max_tlimit_threshold": "-3 C", "temperature/gpu_temp_max_threshold": None}),
    Case("G04", OLD, {f"{LIMIT}=1": {"temp": 92}}, {"temperature/gpu_temp_slow_threshold": "92 C"}),
    Case("G04", NEW, {"field 194": 0}, {"temperature/gpu_temp_slow_tlimit_threshold": "0 C", "temperature/gpu_temp_slow_threshold": None}),
    Case("G05", OLD, {f"{LIMIT}=3": {"temp": 87}}, {"temperature/gpu_temp_max_gpu_threshold": "87 C"}),
    Case("G05", NEW, {"field 196": 5}, {"temperature/gpu_temp_max_gpu_tlimit_threshold": "5 C", "temperature/gpu_temp_max_gpu_threshold": None}),
    Case("G06", "thermal: {target_temperature_c: 83}", {f"{LIMIT}=5": {"temp": 83}}, {"temperature/gpu_target_temperature": "83 C"}),
    Case("G06", "", {f"{LIMIT}=5": 3}, {"temperature/gpu_target_temperature": "N/A"}),
    Case("G07", OLD, {"field 193": "code 3", "field 194": "code 3", "field 196": "code 3", MARGIN: 3},
         {"temperature/gpu_temp_tlimit": "N/A", "temperature/gpu_temp_max_tlimit_threshold": None, "temperature/gpu_temp_max_threshold": "95 C"}),
    Case("G07", NEW, {MARGIN: 0}, {"temperature/gpu_temp_slow_tlimit_threshold": "0 C", "temperature/gpu_temp_slow_threshold": None}),
    Case("G07", THERMAL, {"field 193": "code 3", MARGIN: 3}),
    Case("G08", NEW, {MARGIN: {"marginTempInfo.marginTemperature": 51}}, {"temperature/gpu_temp_tlimit": "51 C"}),
    Case("G08", "architecture: ada, thermal: {temperature_gpu_c: 99, shutdown_threshold_c: 95}", {MARGIN: {"marginTempInfo.marginTemperature": -4}},
         {"temperature/gpu_temp_tlimit": "-4 C"}),
    *(Case("G08", f"architecture: ada, thermal: {{temperature_gpu_c: 40, {keys}}}", {MARGIN: {"marginTempInfo.marginTemperature": margin}})
      for keys, margin in (("slowdown_threshold_c: 92, shutdown_threshold_c: 95, max_operating_c: 87", 52),
                           ("shutdown_threshold_c: 95, max_operating_c: 87", 55), ("max_operating_c: 87", 47))),
    Case("G09", NEW, {"field 193": -3, "field 194": 0, "field 196": 5, "field 195": "code 3"}),
    *(Case("K01", f"performance_state: {word}, power: {{current_draw_mw: 1}}", {f"{D}GetPerformanceState": {"pState": number},
         f"{D}GetPowerState": {"pState": number}},
           {"performance_state": word}) for word, number in (("P0", 0), ("P8", 8), ("P15", 15))),
    Case("K01", "", {f"{D}GetPerformanceState": {"pState": 0}}, {"performance_state": "P0"}),
    Case("K02", "utilization: {gpu: 3, memory: 2}, dynamic_metrics: {utilization: {pattern: steady, gpu_min: 8, gpu_max: 8}}",
         {f"{D}GetUtilizationRates": {"utilization.gpu": 8}}, {"utilization/gpu_util": "8 %"}),
    Case("K02", MEDIA, {f"{D}GetUtilizationRates": {"utilization.gpu": 30, "utilization.memory": 20}},
         {"utilization/gpu_util": "30 %", "utilization/memory_util": "20 %"}),
    Case("K03", MEDIA, {f"{D}GetEncoderUtilization": {"utilization": 5}, f"{D}GetDecoderUtilization": {"utilization": 6}},
         {"utilization/encoder_util": "5 %", "utilization/decoder_util": "6 %"}),
    Case("K04", MEDIA, {f"{D}GetJpgUtilization": {"utilization": 7}, f"{D}GetOfaUtilization": {"utilization": 8}},
         {"utilization/jpeg_util": "7 %", "utilization/ofa_util": "8 %"}),
    Case("K05", ENCODER, {f"{D}GetEncoderStats": {"sessionCount": 2, "averageFps": 60, "averageLatency": 1500}},
         {"encoder_stats/session_count": "2", "encoder_stats/average_fps": "60", "encoder_stats/average_latency": "1500"}),
    Case("K05", "encoder_stats: {session_count: 0}", {f"{D}GetEncoderStats": {"sessionCount": 0, "averageFps": 0, "averageLatency": 0}}),
    Case("K06", FBC, {f"{D}GetFBCStats": {"fbcStats.sessionsCount": 1, "fbcStats.averageFPS": 30, "fbcStats.averageLatency": 900}},
         {"fbc_stats/session_count": "1", "fbc_stats/average_fps": "30", "fbc_stats/average_latency": "900"}),
    Case("K06", "fbc_stats: {session_count: 0}", {f"{D}GetFBCStats": {"fbcStats.sessionsCount": 0, "fbcStats.averageFPS": 0}}),
    Case("K07", "encoder_stats: {session_count: 0}, fbc_stats: {session_count: 0}", {f"{D}GetEncoderSessions": 0, f"{D}GetFBCSessions": 0}),
    Case("K07", SESSIONS, {f"{D}GetEncoderSessions sessionInfos=4": {"sessionCount": 2}, f"{D}GetFBCSessions sessionInfo=4": {"sessionCount": 1},
                           f"{D}GetEncoderStats": {"sessionCount": 2, "averageFps": 45}, f"{D}GetFBCStats": {"fbcStats.sessionsCount": 1}},
         {"encoder_stats/session_count": "2"}),
    *(Case("K08", ENCODER, {f"{D}GetEncoderCapacity encoderQueryType={kind}": {"encoderCapacity": 100}}) for kind in (0, 1, 2)),
    Case("K08", ENCODER, {f"{D}GetEncoderCapacity encoderQueryType=3": 2}),
    Case("K08", "", {f"{D}GetEncoderCapacity encoderQueryType=0": 3}),
    Case("K09", MEDIA, {f"{D}Get{name}Utilization": {"samplingPeriodUs": 0} for name in ("Encoder", "Decoder", "Jpg", "Ofa")}),
    Case("T01", "", {V2: 3, V3: 3, f"{D}GetGpuFabricInfo": 3}, {"fabric/state": "N/A", "fabric/status": "N/A"}),
    Case("T01", health(), {f"{D}GetGpuFabricInfo": 0, V2: 0, V3: 0, f"{D}GetGpuFabricInfoV gpuFabricInfo.version=7": 25}),
    Case("T02", health(), {V3: {"gpuFabricInfo.clusterUuid": bytes.fromhex(CLUSTER.replace("-", ""))}}, {"fabric/clusterUuid": CLUSTER}),
    Case("T02", "fabric: {cluster_uuid: 0a0b0c0d010203040506}",
         {V3: {"gpuFabricInfo.clusterUuid": bytes.fromhex("0a0b0c0d010203040506") + bytes(6)}}),
    Case("T03", health(), {V2: {"gpuFabricInfo.cliqueId": 5}, V3: {"gpuFabricInfo.cliqueId": 5}}, {"fabric/cliqueId": "5"}),
    *(Case("T04", f"fabric: {{clique_id: 1, state: {word}}}", {V3: {"gpuFabricInfo.state": number}}, {"fabric/state": text})
      for word, number, text in (("completed", 3, "Completed"), ("in_progress", 2, "In Progress"), ("not_started", 1, "Not Started"),
      ("not_supported", 0, "N/A"),
                                 ("auto", 3, "Completed"))),
    Case("T04", "fabric: {clique_id: 1}", {V3: {"gpuFabricInfo.state": 3}}),
    Case("T05", health(), {V3: {"gpuFabricInfo.status": 0}}, {"fabric/status": "Success"}),
    *(Case(row, health(**{name: value}), {V2: {"gpuFabricInfo.healthMask": HEALTHY - (flag << shift if value == "true" else 0)}},
         {f"fabric/health/{path}": text})
      for row, name, shift, flag, path, words in (
          ("T06", "degraded_bandwidth", 0, 1, "bandwidth", ("Full", "Degraded")),
          ("T07", "route_recovery", 2, 1, "route_recovery_in_progress", ("False", "True")),
          ("T08", "route_unhealthy", 4, 1, "route_unhealthy", ("False", "True")),
          ("T09", "access_timeout_recovery", 6, 1, "access_timeout_recovery", ("False", "True")),
      ) for value, text in zip(("false", "true"), words, strict=True)),
    *(Case("T10", health(incorrect_configuration=word), {V2: {"gpuFabricInfo.healthMask": HEALTHY | number << 8}},
           {"fabric/health/incorrect_configuration": text}) for number, (word, text) in enumerate(MISCONFIGURED.items(), 1)),
    *(Case("T11", f"{FABRIC}{{route_unhealthy: true}}, health_summary: {word}}}", {V3: {"gpuFabricInfo.healthSummary": number}})
      for word, number in (("auto", 2), ("healthy", 1), ("unhealthy", 2), ("limited_capacity", 3), ("not_supported", 0))),
    Case("T12", health(), {V3: {"gpuFabricInfo.healthSummary": 1}}, {"fabric/health/summary": "Healthy"}),
    Case("T12", health(degraded_bandwidth="true"), {V3: {"gpuFabricInfo.healthSummary": 3}}, {"fabric/health/summary": "Limited Capacity"}),
    *(Case("T12", health(**{name: value}), {V3: {"gpuFabricInfo.healthSummary": 2}}, {"fabric/health/summary": "Unhealthy"})
      for name, value in (("route_unhealthy", "true"), ("incorrect_configuration", "no_partition"))),
    Case("T11", health(route_unhealthy="true")[:-1] + ", health_summary: not_supported}", {}, {"fabric/health/summary": "N/A"}),
    Case("T13", "fabric: {clique_id: 1, health_mask: 0}", {V3: {"gpuFabricInfo.healthMask": 0}}, UNTOLD),
    Case("T12", "fabric: {clique_id: 1, health_mask: 0}", {V3: {"gpuFabricInfo.healthSummary": 0}}),
    Case("T13", f"{FABRIC}{{degraded_bandwidth: true}}, health_mask: {HEALTHY}}}", {V3: {"gpuFabricInfo.healthMask": HEALTHY,
         "gpuFabricInfo.healthSummary": 1}}),
    Case("T14", health(), {}, {"fabric/health/partition_assigned": "N/A"}, driver="580.173.02"),
    Case("T14", health(), {}, {"fabric/health/partition_assigned": None}),
    Case("T16", health(), {V2: {"gpuFabricInfo.healthMask": HEALTHY, "gpuFabricInfo.healthSummary": "code 0"}}),
]  # fmt: skip


@serving.rows(CASES)
def test_a_board_of_these_keys_reads_and_is_printed_so(case: Case, node: Node):
    node.hold(case)


@pytest.mark.spec("G01")
def test_the_thermal_settings_are_of_one_sensor_of_the_gpu(node: Node):
    with node.serve(serving.compiled(OLD)) as nvml:
        found = nvml.call(f"{D}GetThermalSettings", nvml.device(0), {"sensorIndex": 0}).out
    assert (found["pThermalSettings.count"], found["pThermalSettings.sensor"][0]["currentTemp"]) == (1, 41)


@pytest.mark.spec("K07")
def test_a_session_of_a_profile_is_listed_with_what_it_says(node: Node):
    with node.serve(serving.compiled(SESSIONS)) as nvml:
        encoder = nvml.call(f"{D}GetEncoderSessions", nvml.device(0)).out["sessionInfos"]
        capture = nvml.call(f"{D}GetFBCSessions", nvml.device(0)).out["sessionInfo"]
    assert [(session["sessionId"], session["pid"], session["averageFps"]) for session in encoder] == [(31, 700, 60), (32, 700, 30)]
    assert [(session["sessionId"], session["pid"]) for session in capture] == [(5, 701)]


GUARDED = {"C01": f"{D}GetMemoryInfo", "F07": f"{D}GetPowerUsage", "G01": f"{D}GetTemperature sensorType=0"}


@pytest.mark.parametrize("row", [pytest.param(row, marks=pytest.mark.spec(row)) for row in GUARDED])
def test_a_guarded_reading_of_a_gpu_that_is_lost_says_so(node: Node, row: str):
    keys = f"{OLD}, memory: {{total_bytes: 5, free_bytes: 5}}, power: {{current_draw_mw: 5}}, failure: {{mode: lost, after_calls: 2}}"
    function, _, given = GUARDED[row].partition(" ")
    with node.serve(serving.compiled(keys)) as nvml:
        handle, arguments = nvml.device(0), {"sensorType": 0} if given else {}
        assert [nvml.call(function, handle, arguments).code for _ in range(3)] == [0, 15, 15]
        assert nvml.call("nvmlDeviceGetHandleByIndex_v2", None, {"index": 0}).code == 15


@pytest.mark.spec("T01", "T03")
def test_the_fourth_version_has_cliques_and_is_of_drivers_from_615_on(node: Node):
    with node.serve(serving.compiled(health(), driver="610.43.02")) as nvml:
        assert nvml.call("nvmlDeviceGetGpuFabricInfo_v4", nvml.device(0), {"gpuFabricInfo.version": 4}).code == 13
    with node.serve(serving.compiled(health(), driver="615.10")) as nvml:
        found = nvml.call("nvmlDeviceGetGpuFabricInfo_v4", nvml.device(0), {"gpuFabricInfo.version": 4}).out
    assert (found["gpuFabricInfo.numCliques"], found["gpuFabricInfo.cliques"][0]) == (1, {"type": 0, "id": 5})
