-- Orders of a day
CREATE TABLE IF NOT EXISTS shop.orders (id INT PRIMARY KEY, "the sum" NUMERIC(10, 2) DEFAULT 0, CONSTRAINT c CHECK (id > 0));
INSERT INTO orders (id, `sum`) VALUES (1, 'it''s; not the end'), (2, NULL);
WITH d AS (SELECT o.id FROM orders o JOIN days USING (day)) SELECT extract(year FROM t.at), count(*) FROM d, t WHERE d.id = t.id;
ALTER TABLE orders ADD COLUMN note TEXT; UPDATE orders SET note = E'a\'b' WHERE id IN (SELECT id FROM old);
