package ec2

// Interrupt lets EC2 want the capacity of a spot instance back: the warning is sent, the spot request is closed as
// instance-terminated-no-capacity at once although the instance runs on, and after Timing.Warning it is terminated. False
// when id is not a spot instance that is pending or running, or it has been warned already.
func (m *Model) Interrupt(id string) bool {
	return m.interrupt(id, requestNoCapacity, requestNoCapacity)
}

// Outbid lets the spot price pass what an instance's request would pay, as Interrupt does but that the request is marked
// for termination until the instance ends, and closed as instance-terminated-by-price then.
func (m *Model) Outbid(id string) bool { return m.interrupt(id, requestMarked, requestByPrice) }

func (m *Model) interrupt(id string, now, then requestStatus) bool {
	m.lock()
	defer m.unlock()
	i, ok := m.instances[id]
	if !ok || i.facts.CapacityType != Spot || i.ending() || i.warned {
		return false
	}
	i.warned = true
	m.update(i.spotRequest, now)
	m.sendSpotWarning(i)
	m.clock.AfterFunc(m.timing.warning(), func() {
		m.lock()
		defer m.unlock()
		if !i.ending() {
			m.update(i.spotRequest, then)
			m.terminate(i, reasonSpot)
		}
	})
	return true
}

// Reclaim ends a spot instance as EC2 does when it wants the capacity back. The two minutes of warning are over when it is
// called, and nobody was sent one. It returns false when id is not a spot instance that is pending or running.
func (m *Model) Reclaim(id string) bool {
	m.lock()
	defer m.unlock()
	i, ok := m.instances[id]
	if !ok || i.facts.CapacityType != Spot || i.ending() {
		return false
	}
	m.terminate(i, reasonSpot)
	return true
}

// Rebalance recommends to leave a spot instance, which does nothing to it. False when id is not a spot instance that is
// pending or running.
func (m *Model) Rebalance(id string) bool {
	m.lock()
	defer m.unlock()
	i, ok := m.instances[id]
	if !ok || i.facts.CapacityType != Spot || i.ending() {
		return false
	}
	m.send(EventRebalance, map[string]string{"instance-id": id}, m.arn("instance/"+id))
	return true
}

// TakeBack takes capacity for n instances back from an interruptible reservation. Those of its instances that no longer
// fit, oldest first, are warned, and terminated after Timing.Warning. It returns the ids of those it warned.
func (m *Model) TakeBack(id string, n int) []string {
	m.lock()
	defer m.unlock()
	r := m.reservation(id)
	if r == nil || !r.Interruptible {
		return nil
	}
	return m.takeBack(r, n)
}

// takeBack is TakeBack with the lock held.
func (m *Model) takeBack(r *reservation, n int) []string {
	r.Total = max(0, r.Total-n)
	var warned []string
	in := m.inside(r)
	for _, i := range in[:max(0, len(in)-r.Total)] {
		if i.warned || i.ending() {
			continue
		}
		i.warned = true
		warned = append(warned, i.facts.ID)
		m.sendReservationWarning(i)
		m.clock.AfterFunc(m.timing.warning(), func() {
			m.lock()
			defer m.unlock()
			m.terminate(i, reasonReservation)
		})
	}
	return warned
}

// ending reports whether an instance is on its way out, or has ended.
func (i *instance) ending() bool {
	return i.facts.State == ShuttingDown || i.facts.State == Terminated
}
