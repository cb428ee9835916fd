B
X_negativeJüşşûùıúüúÿûı