BX2_newJ £ËH∏≠ù<:Vú)¶Zæ<‹ù g÷
¡<dQÄhvºó<