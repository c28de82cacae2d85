
DECLARE q int;
BEGIN
  SELECT INTO q stock FROM product WHERE id = item;
  n := n + coalesce(q, 0);
  RETURN;
END
