BH3_newJBԝ?
\?