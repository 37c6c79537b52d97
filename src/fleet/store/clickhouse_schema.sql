-- The counts of a fleet in ClickHouse. Integers only: estimates are computed when they are read.
-- Rows that are sent again replace themselves. On servers before version 20 geiger leaves out
-- codecs, LowCardinality, TTL and settings.
--
-- With replicas: ReplicatedReplacingMergeTree. With shards: these tables on each, under other names,
-- and under these names Distributed(cluster, database, table, cityHash64(host)).

-- version 1
CREATE TABLE IF NOT EXISTS schema_versions (version UInt32, made DateTime('UTC') DEFAULT now())
ENGINE = ReplacingMergeTree() ORDER BY version;

CREATE TABLE IF NOT EXISTS windows (  -- a process image in one step of the grid; commits its counts
  service LowCardinality(String), version LowCardinality(String), host LowCardinality(String),
  process UInt64,                     -- 64 bits of a hash of host, pid, start and seed
  started DateTime('UTC') CODEC(Delta, ZSTD(3)),  -- a multiple of the grid
  recorded_ms UInt64,                 -- 0: it ran and was not recorded
  alive_ms UInt64,
  from_start UInt8,                   -- 0: live is only what came since the recording began
  is_pure UInt8,                      -- 1: objects of every size were sampled by chance
  step UInt64,                        -- largest interval in force, also where nothing was sampled
  thinning UInt32,                    -- live samples were kept with 2^-thinning
  seed UInt64,
  exact_bytes Nullable(UInt64),       -- NULL: only the sum over several windows is known
  unsettled_bytes UInt64, rss_byte_seconds UInt64, trials UInt64, hits UInt64, dropped UInt64,
  row_count UInt64, samples UInt64,   -- of counts: rows, sum of allocated
  sequence UInt64, skew_ms Int32, executable LowCardinality(String),
  content UInt64,                     -- hash of the window and its counts
  label_names Array(LowCardinality(String)), label_values Array(LowCardinality(String)),
  received DateTime('UTC') DEFAULT now()
) ENGINE = ReplacingMergeTree() PARTITION BY toDate(started)
ORDER BY (service, version, host, process, started)
TTL started + INTERVAL 400 DAY SETTINGS ttl_only_drop_parts = 1;

-- Stacks first in the key: rows that are alike lie side by side, and a row takes 2 to 3 bytes.
CREATE TABLE IF NOT EXISTS counts (   -- samples alike in all that an estimate depends on
  service LowCardinality(String), version LowCardinality(String),
  stack_id UInt64 CODEC(ZSTD(1)), size UInt64 CODEC(ZSTD(1)), step UInt64 CODEC(ZSTD(3)),
  thinning UInt32 CODEC(ZSTD(1)), certain UInt8 CODEC(ZSTD(1)),
  host LowCardinality(String) CODEC(ZSTD(3)), process UInt64 CODEC(ZSTD(3)),
  started DateTime('UTC') CODEC(Delta, ZSTD(3)),
  recorded_ms UInt64 CODEC(ZSTD(3)),  -- of its window
  allocated UInt32 CODEC(ZSTD(3)), live UInt32 CODEC(ZSTD(3))
) ENGINE = ReplacingMergeTree() PARTITION BY toDate(started)
ORDER BY (service, version, stack_id, size, step, thinning, certain, host, process, started)
TTL started + INTERVAL 30 DAY SETTINGS ttl_only_drop_parts = 1;

CREATE TABLE IF NOT EXISTS daily (    -- counts without processes and times of day
  day Date, service LowCardinality(String), version LowCardinality(String),
  stack_id UInt64 CODEC(ZSTD(1)), size UInt64 CODEC(ZSTD(1)), step UInt64 CODEC(ZSTD(3)),
  thinning UInt32 CODEC(ZSTD(1)), certain UInt8 CODEC(ZSTD(1)),
  host LowCardinality(String) CODEC(ZSTD(3)),
  allocated UInt64 CODEC(ZSTD(3)),
  live_ms UInt64 CODEC(ZSTD(3))       -- live samples times the milliseconds of their windows
) ENGINE = MergeTree() PARTITION BY day
ORDER BY (service, version, stack_id, size, step, thinning, certain, host)
TTL day + INTERVAL 400 DAY SETTINGS ttl_only_drop_parts = 1;

CREATE TABLE IF NOT EXISTS daily_new AS daily;  -- where a day is added up, before it replaces one

CREATE TABLE IF NOT EXISTS rolled_up (  -- what daily has: true of a day while its windows add up to it
  day Date, service LowCardinality(String), version LowCardinality(String),
  row_count UInt64, samples UInt64, made DateTime('UTC') DEFAULT now()
) ENGINE = ReplacingMergeTree(made) ORDER BY (day, service, version)
TTL day + INTERVAL 400 DAY;

CREATE TABLE IF NOT EXISTS stacks (     -- leaf first; two lists under one id are a collision
  stack_id UInt64, truncated UInt8, locations Array(UInt64)
) ENGINE = ReplacingMergeTree()
ORDER BY (stack_id, cityHash64(arrayStringConcat(arrayMap(x -> toString(x), locations), ' ')));

CREATE TABLE IF NOT EXISTS locations (
  location_id UInt64, kind UInt8, build_id LowCardinality(String), module LowCardinality(String),
  address UInt64
) ENGINE = ReplacingMergeTree() ORDER BY location_id;

CREATE TABLE IF NOT EXISTS frames (     -- names, as far as they are known; the innermost first
  location_id UInt64, depth UInt32,     -- of rows of one location the deepest counts
  function Array(String), system_name Array(String), file Array(String), line Array(UInt32)
) ENGINE = ReplacingMergeTree(depth) ORDER BY location_id;

CREATE TABLE IF NOT EXISTS sites (      -- for readers that only have SQL; 'geiger fleet symbolize' fills it
  stack_id UInt64,
  function String, module LowCardinality(String),  -- that is to blame for what the stack allocates
  path Array(String),                   -- it and its callers as reports show them
  has_names UInt8,                      -- 0: of some of them only the address is known
  made DateTime('UTC') DEFAULT now()
) ENGINE = ReplacingMergeTree(made) ORDER BY stack_id;

CREATE TABLE IF NOT EXISTS gaps (       -- what is known to be missing
  host LowCardinality(String), process UInt64, first DateTime('UTC'), last DateTime('UTC'),
  reason LowCardinality(String)
) ENGINE = ReplacingMergeTree(last) ORDER BY (host, process, first);

CREATE TABLE IF NOT EXISTS refusals (   -- documents that were not taken, by why
  reason LowCardinality(String), documents UInt64, at DateTime('UTC') DEFAULT now()
) ENGINE = MergeTree() ORDER BY (reason, at);

-- version 2
ALTER TABLE windows
  ADD COLUMN IF NOT EXISTS began_ms Int64 DEFAULT toInt64(toUInt32(started)) * 1000,
  ADD COLUMN IF NOT EXISTS unsettled_before UInt64 DEFAULT 0;
