// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
//
// Prints the structs of the C API as JSON: {name: [size, {field: [offset, size], ...}], ...}.
#include <sparsecoll/sparsecoll.h>
#include <stdio.h>

static const char* separator = "";

static void begin(const char* name, size_t size) {
  printf("%s\"%s\": [%zu, {", separator, name, size);
  separator = "";
}

static void field(const char* name, size_t offset, size_t size) {
  printf("%s\"%s\": [%zu, %zu]", separator, name, offset, size);
  separator = ", ";
}

static void end(void) {
  printf("}]");
  separator = ",\n ";
}

#define BEGIN(type) begin(#type, sizeof(type));
#define FIELD(type, name) field(#name, offsetof(type, name), sizeof(((type*)0)->name));

static void print_config(void) {
  BEGIN(sparsecollConfig_t)
  FIELD(sparsecollConfig_t, size)
  FIELD(sparsecollConfig_t, magic)
  FIELD(sparsecollConfig_t, version)
  FIELD(sparsecollConfig_t, blocking)
  FIELD(sparsecollConfig_t, device)
  FIELD(sparsecollConfig_t, timeoutMs)
  FIELD(sparsecollConfig_t, algorithm)
  FIELD(sparsecollConfig_t, selection)
  FIELD(sparsecollConfig_t, residualRule)
  FIELD(sparsecollConfig_t, wire)
  FIELD(sparsecollConfig_t, repartitionInterval)
  FIELD(sparsecollConfig_t, thresholdInterval)
  FIELD(sparsecollConfig_t, allowReordered)
  FIELD(sparsecollConfig_t, allowSharded)
  FIELD(sparsecollConfig_t, expectedRanks)
  FIELD(sparsecollConfig_t, denseBelow)
  FIELD(sparsecollConfig_t, nonFinite)
  end();
}

static void print_stats(void) {
  BEGIN(sparsecollStats_t)
  FIELD(sparsecollStats_t, size)
  FIELD(sparsecollStats_t, magic)
  FIELD(sparsecollStats_t, version)
  FIELD(sparsecollStats_t, algorithm)
  FIELD(sparsecollStats_t, bytesSent)
  FIELD(sparsecollStats_t, bytesReceived)
  FIELD(sparsecollStats_t, messagesSent)
  FIELD(sparsecollStats_t, selected)
  FIELD(sparsecollStats_t, result)
  FIELD(sparsecollStats_t, selectSeconds)
  FIELD(sparsecollStats_t, packSeconds)
  FIELD(sparsecollStats_t, exchangeSeconds)
  FIELD(sparsecollStats_t, reduceSeconds)
  FIELD(sparsecollStats_t, abandonedBytes)
  FIELD(sparsecollStats_t, skipped)
  end();
}

static void print_topology(void) {
  BEGIN(sparsecollTopology_t)
  FIELD(sparsecollTopology_t, size)
  FIELD(sparsecollTopology_t, magic)
  FIELD(sparsecollTopology_t, version)
  FIELD(sparsecollTopology_t, levels)
  FIELD(sparsecollTopology_t, group)
  FIELD(sparsecollTopology_t, groups)
  FIELD(sparsecollTopology_t, ranks)
  FIELD(sparsecollTopology_t, source)
  FIELD(sparsecollTopology_t, numaNode)
  FIELD(sparsecollTopology_t, cores)
  FIELD(sparsecollTopology_t, threads)
  end();
}

static void print_sparse(void) {
  BEGIN(sparsecollSparse_t)
  FIELD(sparsecollSparse_t, size)
  FIELD(sparsecollSparse_t, count)
  FIELD(sparsecollSparse_t, nnz)
  FIELD(sparsecollSparse_t, capacity)
  FIELD(sparsecollSparse_t, needed)
  FIELD(sparsecollSparse_t, indices)
  FIELD(sparsecollSparse_t, values)
  FIELD(sparsecollSparse_t, indexType)
  FIELD(sparsecollSparse_t, datatype)
  FIELD(sparsecollSparse_t, nnzOnDevice)
  FIELD(sparsecollSparse_t, blockSize)
  FIELD(sparsecollSparse_t, reserved)
  end();
}

static void print_push_sum_config(void) {
  BEGIN(sparsecollPushSumConfig_t)
  FIELD(sparsecollPushSumConfig_t, size)
  FIELD(sparsecollPushSumConfig_t, magic)
  FIELD(sparsecollPushSumConfig_t, version)
  FIELD(sparsecollPushSumConfig_t, graph)
  FIELD(sparsecollPushSumConfig_t, peers)
  FIELD(sparsecollPushSumConfig_t, maxDelay)
  FIELD(sparsecollPushSumConfig_t, k)
  FIELD(sparsecollPushSumConfig_t, mixing)
  FIELD(sparsecollPushSumConfig_t, outNeighbours)
  FIELD(sparsecollPushSumConfig_t, user)
  end();
}

int main(void) {
  printf("{");
  print_config();
  print_stats();
  print_topology();
  print_sparse();
  print_push_sum_config();
  printf("}\n");
  return 0;
}
