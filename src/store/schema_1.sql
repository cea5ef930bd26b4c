-- Directories that sessions belong to. What a path leads to is kept beside it (device, inode, time of birth), so that a
-- directory that was moved is known again and a copy of it is not taken for it.
CREATE TABLE workspaces (
  id     INTEGER PRIMARY KEY,
  path   BLOB NOT NULL UNIQUE,
  device INTEGER,
  inode  INTEGER,
  born   INTEGER
) STRICT;
CREATE INDEX workspaces_by_directory ON workspaces (device, inode, born);

-- `last` counts the messages that were ever appended.
CREATE TABLE sessions (
  id        INTEGER PRIMARY KEY,
  workspace INTEGER NOT NULL REFERENCES workspaces (id),
  channel   TEXT NOT NULL,
  chat      TEXT NOT NULL,
  title     TEXT NOT NULL,
  created   INTEGER NOT NULL,
  updated   INTEGER NOT NULL,
  last      INTEGER NOT NULL,
  UNIQUE (workspace, channel, chat)
) STRICT;
CREATE INDEX sessions_by_time ON sessions (updated);

-- What was said. Rows are added, and go only with their session.
CREATE TABLE messages (
  id      INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  seq     INTEGER NOT NULL,
  at      INTEGER NOT NULL,
  speaker TEXT NOT NULL,
  blocks  TEXT NOT NULL,
  UNIQUE (session, seq)
) STRICT;

-- A summary stands, for the model, in place of the messages before `first`. The newest row counts.
CREATE TABLE compactions (
  id      INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  at      INTEGER NOT NULL,
  first   INTEGER NOT NULL,
  summary TEXT NOT NULL
) STRICT;
CREATE INDEX compactions_by_session ON compactions (session);

-- One row for every tool call. It names its session by key and outlives it.
CREATE TABLE audit (
  id       INTEGER PRIMARY KEY,
  at       INTEGER NOT NULL,
  session  TEXT NOT NULL,
  who      TEXT NOT NULL,
  role     TEXT NOT NULL,
  tool     TEXT NOT NULL,
  package  TEXT,
  granted  TEXT NOT NULL,
  outcome  TEXT NOT NULL,
  kind     TEXT,
  ms       INTEGER NOT NULL,
  bytes    INTEGER NOT NULL,
  refusals INTEGER NOT NULL
) STRICT;
CREATE INDEX audit_by_session ON audit (session);

-- One row for every model call. Cost in millionths of a dollar, where it is known.
CREATE TABLE usage (
  id       INTEGER PRIMARY KEY,
  at       INTEGER NOT NULL,
  session  TEXT NOT NULL,
  provider TEXT NOT NULL,
  model    TEXT NOT NULL,
  input    INTEGER NOT NULL,
  cached   INTEGER NOT NULL,
  output   INTEGER NOT NULL,
  cost     INTEGER
) STRICT;
CREATE INDEX usage_by_session ON usage (session);
