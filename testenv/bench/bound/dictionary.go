package bound

// dictionary is a linear program, maximize c·x under A·x ≤ b and x ≥ 0, in the form where every basic variable is
// written by the others:
//
//	basic[i] = bound[i] − Σ rows[i][j]·nonbasic[j]      value = objective·nonbasic + constant
//
// Variables below n are the program's own, the others slacks in the order their rows were added.
type dictionary struct {
	n         int
	slacks    int
	rows      [][]float64
	bound     []float64
	objective []float64
	value     float64
	basic     []int
	nonbasic  []int
}

const epsilon = 1e-9

// newDictionary returns a program without rows.
func newDictionary(c []float64) *dictionary {
	d := &dictionary{n: len(c), objective: append([]float64(nil), c...)}
	for j := range c {
		d.nonbasic = append(d.nonbasic, j)
	}
	return d
}

// add enters a·x ≤ b, with a by variable. A basis that was optimal stays so for the objective; restore makes it feasible.
func (d *dictionary) add(a []float64, b float64) {
	row := make([]float64, len(d.nonbasic))
	for j, variable := range d.nonbasic {
		if variable < d.n {
			row[j] = a[variable]
		}
	}
	for i, variable := range d.basic {
		if variable >= d.n || a[variable] == 0 {
			continue
		}
		factor := a[variable]
		b -= factor * d.bound[i]
		for j, x := range d.rows[i] {
			row[j] -= factor * x
		}
	}
	d.rows = append(d.rows, row)
	d.bound = append(d.bound, b)
	d.basic = append(d.basic, d.n+d.slacks)
	d.slacks++
}

// pivot exchanges basic variable i and nonbasic variable j.
func (d *dictionary) pivot(i, j int) {
	row := d.rows[i]
	inverse := 1 / row[j]
	for k := range row {
		row[k] *= inverse
	}
	row[j] = inverse
	d.bound[i] *= inverse
	for r, other := range d.rows {
		factor := other[j]
		if r == i || factor == 0 {
			continue
		}
		other[j] = 0
		for k, x := range row {
			other[k] -= factor * x
		}
		d.bound[r] -= factor * d.bound[i]
	}
	if factor := d.objective[j]; factor != 0 {
		d.objective[j] = 0
		for k, x := range row {
			d.objective[k] -= factor * x
		}
		d.value += factor * d.bound[i]
	}
	d.basic[i], d.nonbasic[j] = d.nonbasic[j], d.basic[i]
}

// solve makes a feasible dictionary optimal, in at most steps exchanges.
func (d *dictionary) solve(steps int) {
	for range steps {
		enter, best := -1, epsilon
		for j, c := range d.objective {
			if c > best {
				enter, best = j, c
			}
		}
		if enter < 0 {
			return
		}
		leave, ratio := -1, 0.0
		for i, row := range d.rows {
			if row[enter] > epsilon {
				if r := max(0, d.bound[i]) / row[enter]; leave < 0 || r < ratio {
					leave, ratio = i, r
				}
			}
		}
		if leave < 0 {
			return // without limit, which no caller asks for
		}
		d.pivot(leave, enter)
	}
}

// restore makes an optimal dictionary to which rows were added feasible and optimal again, in at most steps exchanges.
func (d *dictionary) restore(steps int) {
	for range steps {
		leave, worst := -1, -epsilon
		for i, b := range d.bound {
			if b < worst {
				leave, worst = i, b
			}
		}
		if leave < 0 {
			return
		}
		enter, ratio := -1, 0.0
		for j, x := range d.rows[leave] {
			if x < -epsilon {
				if r := min(0, d.objective[j]) / x; enter < 0 || r < ratio {
					enter, ratio = j, r
				}
			}
		}
		if enter < 0 {
			return
		}
		d.pivot(leave, enter)
	}
}

// forget drops the rows that are further from binding than slack, which the solution does not change by.
func (d *dictionary) forget(slack float64) {
	kept := 0
	for i := range d.rows {
		if d.basic[i] >= d.n && d.bound[i] > slack {
			continue
		}
		d.rows[kept], d.bound[kept], d.basic[kept] = d.rows[i], d.bound[i], d.basic[i]
		kept++
	}
	d.rows, d.bound, d.basic = d.rows[:kept], d.bound[:kept], d.basic[:kept]
}

// solution returns the value of each of the program's own variables.
func (d *dictionary) solution() []float64 {
	x := make([]float64, d.n)
	for i, variable := range d.basic {
		if variable < d.n {
			x[variable] = max(0, d.bound[i])
		}
	}
	return x
}

// prices returns the worth of one more unit of each row's bound, by the order rows were added. Not after forget.
func (d *dictionary) prices() []float64 {
	y := make([]float64, d.slacks)
	for j, variable := range d.nonbasic {
		if variable >= d.n {
			y[variable-d.n] = max(0, -d.objective[j])
		}
	}
	return y
}
