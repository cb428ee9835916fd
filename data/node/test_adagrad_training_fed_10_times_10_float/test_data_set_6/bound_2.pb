BH_newJxÑžLm]ü>WªüBøû>[£¨Ç
?