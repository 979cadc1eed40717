package simulator

import "math/bits"

// Golden is the increment of splitmix64, an odd number close to 2^64 divided by the golden ratio.
const Golden = 0x9e3779b97f4a7c15

// Mix returns the result of the finalizer of splitmix64, a bijection in which each input bit flips about half of the
// output bits.
func Mix(x uint64) uint64 {
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb
	return x ^ (x >> 31)
}

// Hash returns the hash of a position in the world, such as (kind, school, index). The order of the parts matters.
func Hash(seed uint64, parts ...int) uint64 {
	h := Mix(seed + Golden)
	for _, part := range parts {
		h = Mix(h ^ Mix(uint64(part)+Golden))
	}
	return h
}

// hashText returns the hash of texts. The hashes of ("ab", "c") and ("a", "bc") differ.
func hashText(seed uint64, parts ...string) uint64 {
	h := Mix(seed + Golden)
	for _, part := range parts {
		h = Mix(h ^ uint64(len(part)))
		for i := range len(part) {
			h = (h ^ uint64(part[i])) * 0x100000001b3
		}
	}
	return Mix(h)
}

// Rand is a sequence of pseudo-random numbers. It uses only integers, because floating point may differ between
// processors (fused multiply-add), and a seed must give the same bytes everywhere.
type Rand struct{ state uint64 }

// NewRand returns the sequence that begins at a state.
func NewRand(state uint64) *Rand { return &Rand{state} }

func (d *Rand) next() uint64 {
	d.state += Golden
	return Mix(d.state)
}

// Below returns the next number, from 0 to n-1.
func (d *Rand) Below(n int) int {
	high, _ := bits.Mul64(d.next(), uint64(n))
	return int(high)
}

// Between returns the next number, from low to high, both included.
func (d *Rand) Between(low, high int) int { return low + d.Below(high-low+1) }

// Chance returns true with a probability of perMille in a thousand.
func (d *Rand) Chance(perMille int) bool { return d.Below(1000) < perMille }

// normal returns a standard normal deviate in thousandths, within six standard deviations: the sum of twelve uniform
// 16-bit numbers has a standard deviation of 65536.
func (d *Rand) normal() int {
	sum := 0
	for range 3 {
		for x := d.next(); x != 0; x >>= 16 {
			sum += int(x & 0xffff)
		}
	}
	return (sum - 12*65535/2) * 1000 / 65536
}

// rounded returns n/by, rounded to the nearest integer, with halves away from zero. by must be positive.
func rounded(n, by int) int {
	if n < 0 {
		return -((-n + by/2) / by)
	}
	return (n + by/2) / by
}
