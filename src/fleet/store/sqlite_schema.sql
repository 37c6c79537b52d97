-- The counts of a fleet in SQLite. Integers only: estimates are computed when they are read.

-- version 1
CREATE TABLE windows (            -- a process image in one step of the grid
  window_id INTEGER PRIMARY KEY,
  service TEXT NOT NULL, version TEXT NOT NULL, host TEXT NOT NULL,
  process INTEGER NOT NULL,       -- 64 bits of a hash of host, pid, start and seed
  started INTEGER NOT NULL,       -- Unix seconds, a multiple of the grid
  recorded_ms INTEGER NOT NULL,   -- 0: it ran and was not recorded
  alive_ms INTEGER NOT NULL,
  from_start INTEGER NOT NULL,    -- 0: live is only what came since the recording began
  is_pure INTEGER NOT NULL,       -- 1: objects of every size were sampled by chance
  step INTEGER NOT NULL,          -- largest interval in force, also where nothing was sampled
  thinning INTEGER NOT NULL,      -- live samples were kept with 2^-thinning
  seed INTEGER NOT NULL,
  exact_bytes INTEGER,            -- NULL: only the sum over several windows is known
  unsettled_bytes INTEGER NOT NULL, rss_byte_seconds INTEGER NOT NULL,
  trials INTEGER NOT NULL, hits INTEGER NOT NULL, dropped INTEGER NOT NULL,
  row_count INTEGER NOT NULL, samples INTEGER NOT NULL,  -- of window_counts: rows, sum of allocated
  sequence INTEGER NOT NULL, skew_ms INTEGER NOT NULL,
  executable TEXT NOT NULL,
  content INTEGER NOT NULL,       -- hash of the window and its counts
  received INTEGER NOT NULL,
  UNIQUE (service, version, host, process, started));
CREATE INDEX windows_by_time ON windows (service, started);
CREATE TABLE window_labels (
  window_id INTEGER NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,
  PRIMARY KEY (window_id, name)) WITHOUT ROWID;
CREATE TABLE cells (              -- samples alike in all that an estimate depends on
  cell_id INTEGER PRIMARY KEY, stack_id INTEGER NOT NULL, size INTEGER NOT NULL,
  step INTEGER NOT NULL, thinning INTEGER NOT NULL, certain INTEGER NOT NULL,
  UNIQUE (stack_id, size, step, thinning, certain));
CREATE TABLE window_counts (
  window_id INTEGER NOT NULL, cell_id INTEGER NOT NULL,
  allocated INTEGER NOT NULL, live INTEGER NOT NULL,
  PRIMARY KEY (window_id, cell_id)) WITHOUT ROWID;
CREATE VIEW counts AS
  SELECT service, version, host, process, started, recorded_ms, stack_id, size, cells.step AS step,
         cells.thinning AS thinning, certain, allocated, live
  FROM window_counts JOIN windows USING (window_id) JOIN cells USING (cell_id);
CREATE TABLE stacks (stack_id INTEGER PRIMARY KEY, truncated INTEGER NOT NULL);
CREATE TABLE stack_locations (    -- position 0 is the leaf
  stack_id INTEGER NOT NULL, position INTEGER NOT NULL, location_id INTEGER NOT NULL,
  PRIMARY KEY (stack_id, position)) WITHOUT ROWID;
CREATE TABLE locations (
  location_id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, build_id TEXT NOT NULL,
  module TEXT NOT NULL, address INTEGER NOT NULL);
CREATE TABLE frames (             -- names, as far as they are known; position 0 is the innermost
  location_id INTEGER NOT NULL, position INTEGER NOT NULL, function TEXT NOT NULL,
  system_name TEXT NOT NULL, file TEXT NOT NULL, line INTEGER NOT NULL,
  PRIMARY KEY (location_id, position)) WITHOUT ROWID;
CREATE TABLE gaps (               -- what is known to be missing
  host TEXT NOT NULL, process INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
  reason TEXT NOT NULL, PRIMARY KEY (host, process, first)) WITHOUT ROWID;
CREATE TABLE refusals (           -- documents that were not taken, by why
  reason TEXT PRIMARY KEY, documents INTEGER NOT NULL, last INTEGER NOT NULL) WITHOUT ROWID;

-- version 2
CREATE TABLE sites (              -- for readers that only have SQL; 'geiger fleet symbolize' fills it
  stack_id INTEGER PRIMARY KEY,
  function TEXT NOT NULL, module TEXT NOT NULL,  -- that is to blame for what the stack allocates
  path TEXT NOT NULL,             -- it and its callers as reports show them, a line each
  has_names INTEGER NOT NULL);    -- 0: of some of them only the address is known

-- version 3
ALTER TABLE windows ADD COLUMN began_ms INTEGER;  -- Unix milliseconds; NULL: with `started`
ALTER TABLE windows ADD COLUMN unsettled_before INTEGER NOT NULL DEFAULT 0;
