BH8_newJ8øPEœha?X
\∏b?À#0Il?	4ÙøµN?^1ÌL∑K?Òp‡Hfk?T«+u72l?