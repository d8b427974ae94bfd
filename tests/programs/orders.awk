# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Prints the SQL that both the sqlite3 command and our program run: a schema, 100,000 single inserts (with
# -v purchases=N 4,000 and N), joins, window functions, JSON and full-text search. Everything in it is deterministic:
# also the order of rows.

function random(limit) {
    seed = seed * 16807 % 2147483647 # exact in a double
    return int(seed / 65536) % limit
}

BEGIN {
    seed = 42
    if (!purchases)
        purchases = 96000
    for (i = 0; i < 9; i++)
        random(1)
    split("oak ash elm lime beech maple walnut cherry", wood)
    split("bench table chair chest frame door stool shelf", thing)
    split("mortise dovetail finger bridle scarf halving", joint)

    print "CREATE TABLE customer(id INTEGER PRIMARY KEY, name TEXT UNIQUE, town TEXT);"
    print "CREATE TABLE purchase(id INTEGER PRIMARY KEY, customer INTEGER REFERENCES customer, day INTEGER,"
    print "                      price REAL, item TEXT);"
    print "CREATE INDEX purchase_customer ON purchase(customer, day);"
    print "CREATE VIRTUAL TABLE note USING fts5(item, body);"
    print "BEGIN;"
    for (i = 1; i <= 2000; i++)
        printf "INSERT INTO customer VALUES(%d, 'customer %04d', '%s');\n", i, i, substr("ABCDEFG", 1 + random(7), 1)
    for (i = 1; i <= purchases; i++)
        printf "INSERT INTO purchase VALUES(%d, %d, %d, %d.%02d, '%s %s');\n", i, 1 + random(2000), random(365),
            random(900), random(100), wood[1 + random(8)], thing[1 + random(8)]
    for (i = 1; i <= 2000; i++)
        printf "INSERT INTO note(item, body) VALUES('%s', 'a %s with %s joints in %s, number %d');\n",
            thing[1 + random(8)], thing[1 + random(8)], joint[1 + random(6)], wood[1 + random(8)], i
    print "COMMIT;"

    print "SELECT count(*), sum(day), round(sum(price), 2), min(item), max(item) FROM purchase;"
    print "SELECT c.town, count(DISTINCT c.id), count(*), printf('%.2f', avg(p.price))"
    print "  FROM customer c JOIN purchase p ON p.customer = c.id GROUP BY c.town ORDER BY c.town;"
    print "SELECT a.item, b.item, count(*) AS pairs FROM purchase a JOIN purchase b"
    print "  ON a.customer = b.customer AND a.day = b.day AND a.id < b.id"
    print "  GROUP BY 1, 2 ORDER BY pairs DESC, 1, 2 LIMIT 5;"
    print "SELECT name, day, price, rank() OVER (PARTITION BY c.id ORDER BY price DESC) FROM customer c"
    print "  JOIN purchase p ON p.customer = c.id WHERE c.id IN (7, 77) ORDER BY c.id, price DESC LIMIT 8;"
    print "WITH RECURSIVE fib(n, a, b) AS (SELECT 1, 0, 1 UNION ALL SELECT n + 1, b, a + b FROM fib WHERE n < 60)"
    print "  SELECT max(a), group_concat(a) FILTER (WHERE n < 12) FROM fib;"
    print "SELECT json_group_object(item, total) FROM (SELECT item, count(*) AS total FROM purchase"
    print "  WHERE item LIKE 'oak %' GROUP BY item ORDER BY item);"
    print "SELECT key, value ->> '$.wood', json_array_length(value, '$.sizes') FROM json_each("
    print "  '[{\"wood\":\"oak\",\"sizes\":[1,2,3]},{\"wood\":\"elm\",\"sizes\":[]}]');"
    print "SELECT count(*) FROM note WHERE note MATCH 'dovetail AND (oak OR ash) NOT bench';"
    print "SELECT rowid, highlight(note, 1, '<', '>') FROM note WHERE note MATCH 'body: \"scarf joints\" walnut'"
    print "  ORDER BY rank, rowid LIMIT 5;"
    print "UPDATE purchase SET price = price * 1.1 WHERE customer % 3 = 0;"
    print "DELETE FROM customer WHERE id NOT IN (SELECT customer FROM purchase WHERE price > 980);"
    print "SELECT count(*), (SELECT printf('%.3f', total(price)) FROM purchase), typeof(NULL), x'00ff' IS NULL,"
    print "  upper('ä'), substr('Zapfen', -3), NULL FROM customer;"
    print "PRAGMA integrity_check;"
}
