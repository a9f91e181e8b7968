PRAGMA application_id = 1347568722;
PRAGMA user_version = 1;
CREATE TABLE owner (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  generation INTEGER NOT NULL,
  epoch_floor INTEGER NOT NULL,
  pid INTEGER, host TEXT, started_at REAL, version TEXT, taken_at REAL
) STRICT;
CREATE TABLE agent (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  key TEXT NOT NULL UNIQUE,
  epoch INTEGER NOT NULL, seq INTEGER NOT NULL, base INTEGER NOT NULL, claims INTEGER NOT NULL,
  wake REAL, own REAL, at REAL NOT NULL
) STRICT;
CREATE INDEX agent_wake ON agent (wake, key) WHERE wake IS NOT NULL;
CREATE TABLE state (agent INTEGER PRIMARY KEY, json TEXT NOT NULL) STRICT;
CREATE TABLE doomed (agent INTEGER PRIMARY KEY) STRICT;
CREATE TABLE inbox (
  n INTEGER PRIMARY KEY,
  agent INTEGER NOT NULL, id TEXT NOT NULL, hash TEXT NOT NULL, turn TEXT, json TEXT NOT NULL,
  UNIQUE (agent, id)
) STRICT;
CREATE TABLE tombstone (
  agent INTEGER NOT NULL, id TEXT NOT NULL, hash TEXT NOT NULL, turn TEXT, at REAL NOT NULL,
  PRIMARY KEY (agent, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX tombstone_at ON tombstone (at);
CREATE TABLE outbox (
  n INTEGER PRIMARY KEY,
  agent INTEGER NOT NULL, id TEXT NOT NULL, due REAL NOT NULL, json TEXT NOT NULL,
  UNIQUE (agent, id)
) STRICT;
CREATE INDEX outbox_due ON outbox (agent, due);
CREATE TABLE turn (
  agent INTEGER NOT NULL, id TEXT NOT NULL, ended REAL, json TEXT NOT NULL,
  PRIMARY KEY (agent, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE ledger (
  agent INTEGER NOT NULL, turn TEXT NOT NULL, ordinal INTEGER NOT NULL, json TEXT NOT NULL,
  PRIMARY KEY (agent, turn, ordinal)
) STRICT, WITHOUT ROWID;
CREATE TABLE log (
  id INTEGER PRIMARY KEY,
  agent INTEGER NOT NULL, turn TEXT NOT NULL, next INTEGER NOT NULL, ended REAL,
  UNIQUE (agent, turn)
) STRICT;
CREATE INDEX log_ended ON log (ended) WHERE ended IS NOT NULL;
CREATE TABLE segment (
  n INTEGER PRIMARY KEY,
  log INTEGER NOT NULL, first INTEGER NOT NULL, count INTEGER NOT NULL, json TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX segment_first ON segment (log, first);
CREATE TABLE message (
  n INTEGER PRIMARY KEY,
  agent INTEGER NOT NULL, id TEXT NOT NULL, depth INTEGER, last INTEGER NOT NULL, json TEXT NOT NULL,
  UNIQUE (agent, id)
) STRICT;
CREATE UNIQUE INDEX message_depth ON message (agent, depth) WHERE depth IS NOT NULL;
CREATE TABLE part (
  n INTEGER PRIMARY KEY,
  message INTEGER NOT NULL, row INTEGER NOT NULL, json TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX part_row ON part (message, row);
CREATE TABLE damaged (
  n INTEGER PRIMARY KEY,
  agent INTEGER NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL, json TEXT
) STRICT;
INSERT INTO owner VALUES (1, 1, 2, 7, 'frozen', 1700000000000, '0.1.0', 1700000000000);
INSERT INTO agent VALUES (1, 'chat/one', 1, 2, 0, 0, 0, 9000, 1700000000002);
INSERT INTO agent VALUES (3, 'bot/new', 2, 0, 0, 0, 0, NULL, 1700000000000);
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES ('agent', 3);
INSERT INTO state VALUES (1, CAST(X'7b22223a5b225c7564383030222c22d09fd180d0b8d0b2d0b5d18220f09f9880225d2c226e223a312e357d' AS TEXT));
INSERT INTO inbox VALUES (2, 1, 'c2', 'hash of c2', 'turn_c2', '{"v":1,"id":"c2","hash":"hash of c2","at":1700000000000,"kind":"submit","turn":"turn_c2","messages":[]}');
INSERT INTO inbox VALUES (3, 1, CAST(X'01226f64645c75643830305c753030303022' AS TEXT), CAST(X'012268617368206f66206f64645c75643830305c753030303022' AS TEXT), CAST(X'01227475726e5f6f64645c75643830305c753030303022' AS TEXT), '{"v":1,"id":"odd\ud800\u0000","hash":"hash of odd\ud800\u0000","at":1700000000000,"kind":"submit","turn":"turn_odd\ud800\u0000","messages":[]}');
INSERT INTO inbox VALUES (4, 3, 'c9', 'hash of c9', 'turn_c9', '{"v":1,"id":"c9","hash":"hash of c9","at":1700000000000,"kind":"submit","turn":"turn_c9","messages":[]}');
INSERT INTO tombstone VALUES (1, 'c1', 'hash of c1', 'turn_c1', 1700000000000);
INSERT INTO outbox VALUES (1, 1, 'n1', 5000, '{"v":1,"id":"n1","due":5000,"attempts":0,"notice":{"kind":"response","turn":"n1"}}');
INSERT INTO outbox VALUES (2, 1, 'n2', 100, '{"v":1,"id":"n2","due":100,"attempts":0,"notice":{"kind":"response","turn":"n2"}}');
INSERT INTO turn VALUES (1, 't0', 1700000000000, '{"v":1,"id":"t0","status":"settled","kind":"submit","messageId":"msg_t0","inputs":["u1"],"createdAt":1700000000000,"endedAt":1700000000000,"outcome":"completed"}');
INSERT INTO turn VALUES (1, 't1', NULL, '{"v":1,"id":"t1","status":"running","kind":"submit","messageId":"msg_t1","inputs":["u1"],"createdAt":1700000000000}');
INSERT INTO turn VALUES (1, 't2', NULL, '{"v":1,"id":"t2","status":"queued","kind":"submit","messageId":"msg_t2","inputs":["u1"],"createdAt":1700000000000}');
INSERT INTO ledger VALUES (1, 't1', 0, '{"v":1,"turn":"t1","ordinal":0,"tool":"search","label":"call_0","state":"settled","policy":"report","key":"t1-0","runs":0}');
INSERT INTO ledger VALUES (1, 't1', 1, '{"v":1,"turn":"t1","ordinal":1,"tool":"search","label":"call_0","state":"started","policy":"report","key":"t1-1","runs":0}');
INSERT INTO log VALUES (1, 1, 't1', 3, NULL);
INSERT INTO segment VALUES (1, 1, 0, 2, '[{"type":"text-delta","id":"t1","delta":"a"},{"type":"text-delta","id":"t1","delta":"it''s"}]');
INSERT INTO segment VALUES (2, 1, 2, 1, '[{"type":"text-delta","id":"t1","delta":"b"}]');
INSERT INTO message VALUES (1, 1, 'm1', 0, -1, '{"id":"m1","role":"user"}');
INSERT INTO message VALUES (2, 1, 'm2', NULL, -1, '{"id":"m2","role":"user"}');
INSERT INTO message VALUES (3, 1, CAST(X'01226d5c753030303022' AS TEXT), 1, 2, '{"id":"m\u0000","role":"user"}');
INSERT INTO part VALUES (1, 1, -1, '[{"part":{"type":"text","text":"hello"}}]');
INSERT INTO part VALUES (2, 2, -1, '[{"part":{"type":"text","text":"waits"}}]');
INSERT INTO part VALUES (3, 3, 2, '[{"part":{"type":"text","text":"step"}}]');
