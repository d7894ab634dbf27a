"""What every provider stands on: the machines, the calls, the kept message, and the row of its requests. No I/O."""
