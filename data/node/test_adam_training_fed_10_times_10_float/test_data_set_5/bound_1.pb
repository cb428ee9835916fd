BX_newJÝ¦SÛs±>
PXcÉ§>üˆ½¨\¶>