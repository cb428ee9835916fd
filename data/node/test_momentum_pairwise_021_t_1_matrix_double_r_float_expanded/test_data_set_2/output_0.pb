BX_newJ0ЛyѕL|?AzA <Б—'Б\э@T6
>AµtвЮ€R6БЎE_d‰2Б
r…ѓJO7Б