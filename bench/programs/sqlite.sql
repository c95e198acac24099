-- SPDX-License-Identifier: MIT
-- A database in memory: inserts, an index, joins, aggregates, updates, deletes. The table `work` is made by
-- the runner and holds the number of rows.
CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT, town TEXT, born INTEGER, notes TEXT);
CREATE TABLE visit(person INTEGER, day INTEGER, place TEXT);

WITH RECURSIVE number(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM number WHERE i < (SELECT rows FROM work))
INSERT INTO person
SELECT i, printf('name-%d', i * 7919 % 100003), printf('town-%d', i % 317), 1900 + i % 120,
       substr('a text of varying length, which some rows have more of than others have', 1, 5 + i % 60)
FROM number;

INSERT INTO visit SELECT id, id * 31 % 365, printf('place-%d', id * 17 % 1009) FROM person;
INSERT INTO visit SELECT id, id * 37 % 365, printf('place-%d', id * 13 % 1009) FROM person WHERE id % 2 = 0;

CREATE INDEX by_town ON person(town, born);
CREATE INDEX by_person ON visit(person);

SELECT count(*), sum(length(name)), max(born) FROM person;
SELECT town, count(*), group_concat(substr(name, 6, 3), '') FROM person
WHERE born > 1990 GROUP BY town ORDER BY 2 DESC, 1 LIMIT 5;
SELECT place, count(DISTINCT person.town) AS towns FROM visit JOIN person ON person.id = visit.person
GROUP BY place ORDER BY towns DESC, place LIMIT 5;
UPDATE person SET notes = notes || ' / ' || town WHERE id % 3 = 0;
SELECT sum(length(notes)) FROM person;
DELETE FROM visit WHERE person IN (SELECT id FROM person WHERE town LIKE '%7');
SELECT count(*) FROM visit;
SELECT length(group_concat(upper(name) || ':' || replace(notes, 'e', 'EE'), '; ')) FROM person;
