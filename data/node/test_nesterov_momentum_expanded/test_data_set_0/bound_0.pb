BX_newJªJíYùk>á
¢L >