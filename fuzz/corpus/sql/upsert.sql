INSERT INTO item VALUES (1, 'bolt', 3, NULL) ON CONFLICT (id) DO UPDATE SET price = EXCLUDED.price + item.price WHERE item.price IS NOT NULL RETURNING id, price
