B
G4_scalarsJ§Â¿[É‡¿ì5Ô½