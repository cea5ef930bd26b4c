-- What the host put into a conversation names its source; what people and models say has none. A source comes once.
ALTER TABLE messages ADD COLUMN source TEXT;
CREATE UNIQUE INDEX messages_by_source ON messages (session, source) WHERE source IS NOT NULL;

-- The processes of this program that are there, and which session each attends. The proof of life is a lock file.
CREATE TABLE processes (
  id        TEXT PRIMARY KEY,
  kind      TEXT NOT NULL,
  pid       INTEGER NOT NULL,
  started   INTEGER NOT NULL,
  workspace INTEGER REFERENCES workspaces (id),
  channel   TEXT,
  chat      TEXT
) STRICT, WITHOUT ROWID;

-- Background runs. `owner` is the process that runs it, and once it has ended the one that delivers it. `nth` counts the
-- runs of a session. `cancel` says why somebody wants it to end. Where execution and delivery stand is told apart.
CREATE TABLE tasks (
  number         INTEGER PRIMARY KEY,
  id             TEXT NOT NULL UNIQUE,
  workspace      INTEGER NOT NULL REFERENCES workspaces (id),
  channel        TEXT NOT NULL,
  chat           TEXT NOT NULL,
  nth            INTEGER NOT NULL,
  turn           TEXT NOT NULL,
  digest         TEXT NOT NULL,
  label          TEXT NOT NULL,
  task           TEXT NOT NULL,
  profile        TEXT NOT NULL,
  provider       TEXT NOT NULL,
  model          TEXT NOT NULL,
  rights         TEXT NOT NULL,
  max_iterations INTEGER NOT NULL,
  max_tokens     INTEGER,
  max_cost       INTEGER,
  temperature    REAL,
  time_ms        INTEGER NOT NULL,
  retry_of       TEXT,
  kept           INTEGER NOT NULL,
  owner          TEXT,
  cancel         TEXT,
  execution      TEXT NOT NULL,
  delivery       TEXT NOT NULL,
  reason         TEXT,
  created        INTEGER NOT NULL,
  started        INTEGER,
  ended          INTEGER,
  delivered      INTEGER,
  result         TEXT,
  iterations     INTEGER NOT NULL,
  input          INTEGER NOT NULL,
  cached         INTEGER NOT NULL,
  output         INTEGER NOT NULL,
  cost           INTEGER,
  origin         TEXT NOT NULL,
  UNIQUE (workspace, channel, chat, nth),
  UNIQUE (workspace, channel, chat, turn, digest)
) STRICT;
CREATE INDEX tasks_by_workspace ON tasks (workspace);
-- What is not over is little, however much is.
CREATE INDEX tasks_open ON tasks (execution, owner) WHERE ended IS NULL;
CREATE INDEX tasks_open_by_session ON tasks (workspace, channel, chat) WHERE ended IS NULL;
CREATE INDEX tasks_pending ON tasks (owner, workspace, channel, chat)
  WHERE delivery = 'pending' AND ended IS NOT NULL;

-- What is to reach a person who may not be there. `owner` is the process that shows it.
CREATE TABLE outbox (
  id          INTEGER PRIMARY KEY,
  workspace   INTEGER NOT NULL REFERENCES workspaces (id),
  channel     TEXT NOT NULL,
  chat        TEXT NOT NULL,
  source      TEXT,
  kind        TEXT NOT NULL,
  content     TEXT NOT NULL,
  attachments TEXT NOT NULL,
  created     INTEGER NOT NULL,
  owner       TEXT,
  uncertain   INTEGER NOT NULL,
  delivery    TEXT NOT NULL,
  delivered   INTEGER
) STRICT;
CREATE UNIQUE INDEX outbox_by_source ON outbox (workspace, channel, chat, source) WHERE source IS NOT NULL;
CREATE INDEX outbox_pending ON outbox (owner) WHERE delivery = 'pending';
CREATE INDEX outbox_pending_by_session ON outbox (owner, workspace, channel, chat) WHERE delivery = 'pending';

-- Scheduled jobs. `next` is the due time that nobody has dealt with yet.
CREATE TABLE jobs (
  number     INTEGER PRIMARY KEY,
  id         TEXT NOT NULL UNIQUE,
  workspace  INTEGER NOT NULL REFERENCES workspaces (id),
  channel    TEXT NOT NULL,
  chat       TEXT NOT NULL,
  name       TEXT NOT NULL,
  message    TEXT NOT NULL,
  schedule   TEXT NOT NULL,
  missed     TEXT NOT NULL,
  rights     TEXT NOT NULL,
  profile    TEXT NOT NULL,
  tools      TEXT,
  provider   TEXT NOT NULL,
  model      TEXT NOT NULL,
  time_ms    INTEGER NOT NULL,
  max_tokens INTEGER,
  most       TEXT NOT NULL,
  silent     INTEGER NOT NULL,
  author     TEXT NOT NULL,
  anchor     INTEGER NOT NULL,
  next       INTEGER,
  state      TEXT NOT NULL,
  reason     TEXT,
  failures   INTEGER NOT NULL,
  created    INTEGER NOT NULL,
  updated    INTEGER NOT NULL
) STRICT;
CREATE INDEX jobs_by_session ON jobs (workspace, channel, chat);
CREATE INDEX jobs_open ON jobs (workspace, channel, chat) WHERE state <> 'done';
CREATE INDEX jobs_due ON jobs (next) WHERE state = 'active';
CREATE INDEX jobs_due_by_workspace ON jobs (workspace, next) WHERE state = 'active';

-- What became of due times. The rows outlive their job, which they name by id. One run of a job at a time.
CREATE TABLE job_runs (
  id      INTEGER PRIMARY KEY,
  job     TEXT NOT NULL,
  due     INTEGER NOT NULL,
  until   INTEGER NOT NULL,
  times   INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  reason  TEXT,
  owner   TEXT,
  began   INTEGER NOT NULL,
  ended   INTEGER
) STRICT;
CREATE INDEX job_runs_by_job ON job_runs (job);
CREATE UNIQUE INDEX job_runs_running ON job_runs (job) WHERE outcome = 'running';
CREATE INDEX job_runs_by_owner ON job_runs (owner) WHERE outcome = 'running';
