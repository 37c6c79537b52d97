-- The tables of an exported recording, for SQLite and PostgreSQL (docs/guide/sql.md).
--
-- They hold what was recorded: integers, names and one rate per interval. All that
-- is estimated is in the views of estimates.sql. Times are nanoseconds, sizes bytes.

CREATE TABLE settings (
  -- Confidence level of every interval: UPDATE settings SET level = 0.99.
  level DOUBLE PRECISION NOT NULL CHECK (level > 0 AND level < 1)
);

-- What is counted, and the factor on the rates that its samples were drawn with:
-- 1, but 1/2 for the peak where one half of the samples chose the instant.
CREATE TABLE profiles (
  kind TEXT PRIMARY KEY,  -- 'allocated', 'live' (at the end) or 'peak'
  rate_factor DOUBLE PRECISION NOT NULL CHECK (rate_factor > 0 AND rate_factor <= 1)
);

CREATE TABLE processes (
  process_id INTEGER PRIMARY KEY,
  trace TEXT NOT NULL,
  pid BIGINT NOT NULL,
  parent_pid BIGINT NOT NULL,
  executable TEXT NOT NULL,
  allocator TEXT NOT NULL,
  is_fork_child INTEGER NOT NULL CHECK (is_fork_child IN (0, 1)),
  is_pure INTEGER NOT NULL CHECK (is_pure IN (0, 1)),
  started_at BIGINT NOT NULL,       -- since 1970
  duration BIGINT NOT NULL,
  seed TEXT NOT NULL,               -- 64 bits, decimal
  keep DOUBLE PRECISION NOT NULL    -- share of samples whose fates were followed; 1: all
    CHECK (keep > 0 AND keep <= 1),
  exact_bytes BIGINT NOT NULL,      -- counted, not estimated; without what is unsettled
  unsettled_bound BIGINT NOT NULL,  -- at most so many bytes more
  certain_bytes BIGINT NOT NULL,
  trials BIGINT NOT NULL,
  hits BIGINT NOT NULL
);

CREATE TABLE intervals (
  interval_id INTEGER PRIMARY KEY,
  bytes BIGINT NOT NULL CHECK (bytes >= 1),            -- T
  lambda DOUBLE PRECISION CHECK (lambda > 0)           -- NULL at T = 1: nothing is missed
);

CREATE TABLE modules (
  module_id INTEGER PRIMARY KEY,  -- 0: outside every module
  path TEXT NOT NULL,
  file_name TEXT NOT NULL,
  build_id TEXT NOT NULL
);

CREATE TABLE functions (
  function_id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,           -- 'module+0x1234' where no name is known
  module_id INTEGER NOT NULL
);

CREATE TABLE locations (
  location_id INTEGER PRIMARY KEY,
  module_id INTEGER NOT NULL,
  address TEXT NOT NULL         -- ELF virtual address of the return address, hexadecimal
);

-- The functions of a location: one, or several where calls were inlined.
CREATE TABLE frames (
  location_id INTEGER NOT NULL,
  position INTEGER NOT NULL,    -- 0 is the innermost
  function_id INTEGER NOT NULL,
  source_file TEXT NOT NULL,    -- '' where unknown
  line BIGINT NOT NULL,         -- 0 where unknown
  PRIMARY KEY (location_id, position)
);

CREATE TABLE stacks (
  stack_id BIGINT PRIMARY KEY,
  is_truncated INTEGER NOT NULL CHECK (is_truncated IN (0, 1)),
  is_whole INTEGER NOT NULL CHECK (is_whole IN (0, 1))  -- 0: it may have had further callers
);

CREATE TABLE stack_locations (
  stack_id BIGINT NOT NULL,
  position INTEGER NOT NULL,    -- 0 is the leaf
  location_id INTEGER NOT NULL,
  PRIMARY KEY (stack_id, position)
);

-- Samples of one size drawn with one rate: integers, so that adding them up over
-- stacks, processes and hosts is exact in any order.
CREATE TABLE counts (
  process_id INTEGER NOT NULL,
  stack_id BIGINT NOT NULL,
  interval_id INTEGER NOT NULL,
  size BIGINT NOT NULL CHECK (size >= 0),  -- requested
  usable BIGINT NOT NULL CHECK (usable >= 0),  -- given for each; 0: not known
  alignment BIGINT NOT NULL CHECK (alignment >= 1),  -- asked for; 1: none was
  is_certain INTEGER NOT NULL CHECK (is_certain IN (0, 1)),
  is_open INTEGER NOT NULL CHECK (is_open IN (0, 1)),  -- 1: the filters cannot tell of them
  allocated BIGINT NOT NULL CHECK (allocated >= 0),
  live BIGINT NOT NULL CHECK (live >= 0),  -- of them, not freed at the end
  peak BIGINT NOT NULL CHECK (peak >= 0),  -- of them, measured at the peak
  PRIMARY KEY (process_id, stack_id, interval_id, size, usable, alignment, is_certain, is_open)
);
