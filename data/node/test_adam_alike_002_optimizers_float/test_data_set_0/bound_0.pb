B
X_new_adamJ 2tυλ‚Δ>ρ{`δ{κΐ>IA΄s¶>ϊi’Σª[Γ>