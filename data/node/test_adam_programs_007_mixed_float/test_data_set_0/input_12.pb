B
G_double_1J LֵX	¥פת¿רחב™ןת?`FZKß¶?R°;לף³ע?