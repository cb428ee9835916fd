BV1_newJRJö
3[E?›¢ú×Kyà¿bf–ÚOJa@