CREATE PROCEDURE fill(n int) AS $$
DECLARE
  total bigint := 0; v_id int; v_stock int;
BEGIN
  FOR i IN REVERSE n..1 BY 2 LOOP
    INSERT INTO product VALUES (i, i..1, NULL) ON CONFLICT DO NOTHING;
  END LOOP;
  <<outer_loop>>
  LOOP
    FOR v_id, v_stock IN SELECT id, stock FROM product ORDER BY id LOOP
      total := total + v_stock;
      EXIT outer_loop WHEN total > 10;
    END LOOP;
    EXIT WHEN NOT FOUND;
  END LOOP outer_loop;
  WHILE total > 0 LOOP
    total := total - 1;
  END LOOP;
  GET DIAGNOSTICS v_id = ROW_COUNT;
  ASSERT total = 0, 'nothing is left';
END;
$$ LANGUAGE plpgsql;
DO $do$ BEGIN UPDATE product SET stock = 1; END $do$;
CREATE FUNCTION names() RETURNS SETOF text LANGUAGE sql STABLE AS $_$ SELECT name FROM product WHERE id <> 0; $_$;
CREATE FUNCTION one(int) RETURNS int RETURN $1 + 1;
