package ec2

import (
	"slices"
	"time"
)

// spotRequest is what a launch asked the spot market for: one for each spot instance, of type one-time.
type spotRequest struct {
	id       string
	seq      int // as of its instance
	created  time.Time
	updated  time.Time
	status   requestStatus
	instance *instance
}

// requestStatus is where a request is. Source: user guide, "Get the status of a Spot Instance request".
type requestStatus struct{ code, state, message string }

// The states a request goes through here.
var (
	requestFulfilled  = requestStatus{"fulfilled", "active", "Your Spot request is fulfilled."}
	requestMarked     = requestStatus{"marked-for-termination", "active", "Your Spot Instance is marked for termination."}
	requestNoCapacity = requestStatus{"instance-terminated-no-capacity", "closed", "Your Spot Instance was terminated because there is no Spot capacity available that matches your request."}
	requestByPrice    = requestStatus{"instance-terminated-by-price", "closed", "Your Spot Instance was terminated because the Spot price exceeded your maximum price."}
	requestByUser     = requestStatus{"instance-terminated-by-user", "closed", "Your Spot Instance was terminated by you."}
)

// requestKept is how long a request is described after its instance has ended. Source: user guide, "Cancel a Spot Instance
// request".
const requestKept = 4 * time.Hour

// addRequest makes the spot request of a new instance, with the tags of the launch.
func (m *Model) addRequest(i *instance, tags map[string]string) {
	now := m.now()
	i.spotRequest = &spotRequest{id: "sir-" + digest(i.facts.ID)[:8], seq: i.seq, created: now, updated: now, status: requestFulfilled, instance: i}
	m.spotRequests = append(m.spotRequests, i.spotRequest)
	m.tags.set(i.spotRequest.id, tags, i.visibleAt)
}

// update moves a request on.
func (m *Model) update(r *spotRequest, s requestStatus) {
	if r.status != s {
		r.status, r.updated = s, m.now()
	}
}

// closeRequest ends the request of an instance that ends, and says why, unless that was said before.
func (m *Model) closeRequest(i *instance, reason string) {
	r := i.spotRequest
	if r == nil || r.status.state == "closed" {
		return
	}
	if reason == reasonSpot {
		m.update(r, requestNoCapacity)
		return
	}
	m.update(r, requestByUser)
}

// dropRequest forgets the request of an instance that has ended, some hours after that.
func (m *Model) dropRequest(i *instance) {
	if i.spotRequest == nil {
		return
	}
	m.clock.AfterFunc(requestKept, func() {
		m.lock()
		defer m.unlock()
		m.spotRequests = slices.DeleteFunc(m.spotRequests, func(r *spotRequest) bool { return r == i.spotRequest })
		delete(m.tags, i.spotRequest.id)
	})
}
