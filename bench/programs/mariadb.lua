-- SPDX-License-Identifier: MIT
-- The load of the workload `mariadb`, for sysbench: the mix of its OLTP transactions (ten point selects, four kinds of
-- ranges, an update of an indexed column and one of another, a delete and an insert), with a table for each thread and a
-- generator for each thread, so that the tables hold the same in the end whatever the threads did at the same time.
-- Commands: prepare, run, check (prints sums of the tables), stop (ends the server).
sysbench.cmdline.options = {
   rows = {"Rows of a table", 10000},
   transactions = {"Transactions of a thread", 1000},
   tables = {"Tables, one a thread", 2}
}

-- Park and Miller's generator.
local state
local function below(bound)
   state = state * 16807 % 2147483647
   return state % bound
end

local function text(length)
   local part = {}
   for i = 1, length / 8 do
      part[i] = string.format("%08d", below(100000000))
   end
   return table.concat(part, "-")
end

local function seed(number)
   state = number * 7919 + 1
end

local function row(id)
   return string.format("(%d,%d,'%s','%s')", id, below(sysbench.opt.rows), text(104), text(56))
end

function cmd_prepare()
   local con = sysbench.sql.driver():connect()
   con:query("CREATE DATABASE IF NOT EXISTS sbtest")
   for number = 1, sysbench.opt.tables do
      seed(number)
      con:query(string.format("CREATE TABLE sbtest.t%d(id INTEGER PRIMARY KEY, k INTEGER NOT NULL, " ..
         "c CHAR(120) NOT NULL, pad CHAR(64) NOT NULL, KEY(k)) ENGINE=InnoDB", number))
      for first = 1, sysbench.opt.rows, 200 do
         local rows = {}
         for id = first, math.min(first + 199, sysbench.opt.rows) do
            rows[#rows + 1] = row(id)
         end
         con:query(string.format("INSERT INTO sbtest.t%d VALUES %s", number, table.concat(rows, ",")))
      end
   end
end

function cmd_check()
   local con = sysbench.sql.driver():connect()
   for number = 1, sysbench.opt.tables do
      local sums = con:query_row(string.format(
         "SELECT CONCAT(COUNT(*), ' rows, ', SUM(k), ' ', SUM(CRC32(c)), ' ', SUM(CRC32(pad))) FROM sbtest.t%d", number))
      print("table " .. number .. ": " .. sums)
   end
end

function cmd_stop()
   sysbench.sql.driver():connect():query("SHUTDOWN")
end

sysbench.cmdline.commands = {prepare = {cmd_prepare}, check = {cmd_check}, stop = {cmd_stop}}

local con, name
function thread_init(number)
   con = sysbench.sql.driver():connect()
   name = "sbtest.t" .. number + 1
   seed(number + 1000)
end

function thread_done()
   con:disconnect()
end

local function id()
   return below(sysbench.opt.rows) + 1
end

local function query(form, ...)
   con:query(string.format(form, name, ...))
end

local function range(form)
   local first = id()
   query(form, first, first + 99)
end

local function transaction()
   con:query("BEGIN")
   for _ = 1, 10 do
      query("SELECT c FROM %s WHERE id=%d", id())
   end
   range("SELECT c FROM %s WHERE id BETWEEN %d AND %d")
   range("SELECT SUM(k) FROM %s WHERE id BETWEEN %d AND %d")
   range("SELECT c FROM %s WHERE id BETWEEN %d AND %d ORDER BY c")
   range("SELECT DISTINCT c FROM %s WHERE id BETWEEN %d AND %d ORDER BY c")
   query("UPDATE %s SET k=k+1 WHERE id=%d", id())
   query("UPDATE %s SET c='%s' WHERE id=%d", text(104), id())
   local old = id()
   query("DELETE FROM %s WHERE id=%d", old)
   query("INSERT INTO %s VALUES %s", row(old))
   con:query("COMMIT")
end

-- An event is one transaction; each thread makes its share, however fast the others are.
function thread_run(number)
   for _ = 1, sysbench.opt.transactions do
      ffi.C.sb_event_start(number)
      transaction()
      ffi.C.sb_event_stop(number)
   end
end

function event()
end
