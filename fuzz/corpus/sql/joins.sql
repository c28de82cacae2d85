SELECT i.name, SUM(s.amount) AS total FROM item i LEFT JOIN sale s ON s.item = i.id WHERE i.price > 1 OR i.price IS NULL GROUP BY i.name HAVING COUNT(*) > 0 ORDER BY total DESC, 1 LIMIT 5 OFFSET 1
