BX1_newJ m_¥
|’>cªçÂs>