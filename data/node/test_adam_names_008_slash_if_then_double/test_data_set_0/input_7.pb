Bvalue/V2J PhнjЌЛ?њф‰-Oв?ђ№bВДжжїpц
x)Йї