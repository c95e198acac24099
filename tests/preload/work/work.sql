-- SPDX-License-Identifier: MIT
-- Work for sqlite3: sorts by helper threads, indexes, joins, windows, json, full text, vacuum.
PRAGMA journal_mode = WAL;
PRAGMA threads = 2;
PRAGMA temp_store = MEMORY;
PRAGMA cache_size = -2000;
CREATE TABLE block(id INTEGER PRIMARY KEY, size INTEGER, class INTEGER, name TEXT, body BLOB);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000)
INSERT INTO block SELECT i, (i * 7919) % 10007, (i * 31) % 97, printf('block-%06x-%s', (i * 2654435761) & 0xffffff,
    substr('abcdefghijklmnopqrstuvwxyz', 1, i % 26)), zeroblob(i % 90) FROM n;
CREATE INDEX block_by_name ON block(name, size);
CREATE INDEX block_by_class ON block(class) WHERE size > 100;
SELECT count(*), sum(size), min(name), max(name) FROM block;
SELECT class, count(*), avg(size), max(name) FROM block GROUP BY class ORDER BY 3 DESC LIMIT 10;
SELECT a.class, count(*) FROM block a JOIN block b ON a.name = b.name AND a.size <> b.size GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10;
SELECT id, name, sum(size) OVER (PARTITION BY class ORDER BY name, id ROWS 5 PRECEDING) AS s FROM block ORDER BY s DESC, id LIMIT 10;
SELECT sum(length(name) * rank) FROM (SELECT name, row_number() OVER (ORDER BY body, name DESC, id) % 1000 AS rank FROM block);

CREATE TABLE document AS
    SELECT class, json_group_array(json_object('id', id, 'name', name, 'size', size)) AS text
    FROM (SELECT * FROM block WHERE id <= 9000 ORDER BY id) GROUP BY class;
SELECT class, length(text), json_extract(text, '$[3].name'), json_array_length(text) FROM document ORDER BY class LIMIT 5;
SELECT sum(json_extract(value, '$.size')) FROM document, json_each(document.text);

CREATE VIRTUAL TABLE words USING fts5(name, text);
INSERT INTO words SELECT name, 'the ' || size || ' bytes of class ' || class || ' in ' || name FROM block WHERE id < 9000;
INSERT INTO words(words) VALUES ('optimize');
SELECT name FROM words WHERE words MATCH 'class AND (17 OR 31) NOT abc*' ORDER BY rank, name LIMIT 5;

BEGIN;
UPDATE block SET name = upper(name), body = zeroblob(3) WHERE id % 3 = 0;
DELETE FROM block WHERE id % 7 = 0;
SAVEPOINT inner_part;
UPDATE block SET size = -size;
ROLLBACK TO inner_part;
COMMIT;
REINDEX;
VACUUM;
ANALYZE;
PRAGMA integrity_check;
SELECT count(*), sum(size), min(name), max(name) FROM block;
