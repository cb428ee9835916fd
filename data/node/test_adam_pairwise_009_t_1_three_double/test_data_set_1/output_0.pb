BX1_newJ1ћVaы
2Ба±ЦСА2A