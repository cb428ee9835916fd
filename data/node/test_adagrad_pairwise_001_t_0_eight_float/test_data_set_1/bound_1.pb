BX2_newJD¨Ëbq ==
½?ÚðW=