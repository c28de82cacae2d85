CREATE OR REPLACE FUNCTION public.sell(IN item int, amount int = 1, OUT rest product.stock%TYPE, OUT told text)
RETURNS record LANGUAGE 'plpgsql' VOLATILE SECURITY DEFINER SET search_path = public, pg_temp COST 10 AS $body$
#variable_conflict use_variable
<<selling>>
DECLARE
  p product%ROWTYPE;
  r RECORD;
  tries CONSTANT int NOT NULL := 3;
  v_name text DEFAULT 'it''s';
BEGIN
  SELECT * INTO p FROM product WHERE id = item FOR UPDATE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'no product %', item USING ERRCODE = 'P0002', HINT = 'look again';
  ELSIF p.stock < amount THEN
    rest := p.stock;
    told = 'too few';
    RETURN;
  ELSE
    NULL;
  END IF;
  UPDATE product SET stock = stock - amount WHERE id = sell.item RETURNING stock INTO STRICT rest;
  CASE rest
    WHEN 0, 1 THEN told := 'last';
    ELSE told := 'more';
  END CASE;
  FOR r IN SELECT id, name FROM product WHERE stock > $2 LOOP
    CONTINUE selling_loop WHEN r.id = item;
  END LOOP;
  BEGIN
    PERFORM 1 FROM product WHERE id = item;
  EXCEPTION WHEN division_by_zero OR others THEN
    RAISE WARNING 'again: %', SQLERRM;
    RAISE;
  END;
END selling;
$body$;
