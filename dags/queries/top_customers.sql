SELECT name, country, revenue
FROM customer_revenue
WHERE revenue > 0
ORDER BY revenue DESC, customer_id
LIMIT 3
