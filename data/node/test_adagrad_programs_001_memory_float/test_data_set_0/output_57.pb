B
H_second_GJ8º@±xZ?ü8-@'e)@