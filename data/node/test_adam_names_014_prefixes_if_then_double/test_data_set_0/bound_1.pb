BvvvvvvvvvvvvvvvvvvvvvvvvvJ ’Å2*
É<â©}ˆ½<[/¡¡ã©<‰ôæ±"‡º<