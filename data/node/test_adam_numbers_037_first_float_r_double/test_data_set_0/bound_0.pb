BX_newJ Ó¿†1õS»>xOË¨T»>
hmœ‚e»>¢2‹q‹»>