package drain

import (
	"cmp"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// maxMessage is how much of what the API server said is kept, in bytes.
const maxMessage = 300

// blockedLong is after how many seconds a refusal says for how long it has gone on.
const blockedLong = 600

// Refuse returns a drain's record with an eviction, or deletion, that the API server refused at nowUnix for the reason
// of a code (DisruptionBudget, TooManyBudgets, …) and in its own words: the pod is not asked for again at once. Not for
// pods that are gone or another's.
func Refuse(record model.Drain, eviction Eviction, code, message string, nowUnix int64, settings Settings) model.Drain {
	settings = settings.WithDefaults()
	now := sane(nowUnix)
	if eviction.Force {
		code = CodeDeleteFailed
	}
	refusal := model.Refusal{
		UID: eviction.Pod.UID, Tries: 1, FirstUnix: now, Code: cmp.Or(code, CodeRefused), Message: cut(message),
	}
	record.Refused = slices.Clone(record.Refused)
	i := slices.IndexFunc(record.Refused, func(r model.Refusal) bool { return r.UID == refusal.UID })
	if i >= 0 {
		before := record.Refused[i]
		if (before.Code == CodeDeleteFailed) == eviction.Force {
			refusal.Tries = max(1, min(before.Tries, 1<<20)) + 1
			refusal.FirstUnix = min(sane(before.FirstUnix), now)
		}
		record.Refused[i] = refusal
	} else {
		i = len(record.Refused)
		record.Refused = append(record.Refused, refusal)
	}
	pause := settings.BackoffSeconds
	if doublings := refusal.Tries - 1; doublings < 30 {
		pause = min(pause, 1<<doublings)
	}
	// What has gone on for long is asked for more seldom, so that many drains do not keep the API server busy (R28).
	pause = max(pause, min((now-refusal.FirstUnix)/10, settings.PollSeconds))
	record.Refused[i].NextUnix = now + pause
	slices.SortStableFunc(record.Refused, func(a, b model.Refusal) int { return strings.Compare(a.UID, b.UID) })
	return record
}

// cut shortens a message to what is kept of it, at a character's end.
func cut(message string) string {
	message = strings.ToValidUTF8(message, "�")
	if len(message) <= maxMessage {
		return message
	}
	end := maxMessage - len("…")
	for end > 0 && message[end]&0xC0 == 0x80 {
		end--
	}
	return message[:end] + "…"
}

// stillRefused returns the refusals of pods that are there, each once, by UID. That a pod could not be evicted means
// nothing once it is leaving.
func stillRefused(refused []model.Refusal, o *model.Occupied) []model.Refusal {
	if o == nil || len(refused) == 0 {
		return nil
	}
	there := map[string]*model.Occupant{}
	for i := range o.Pods {
		p := &o.Pods[i]
		if p.UID != "" && p.Phase != model.Succeeded && p.Phase != model.Failed {
			there[p.UID] = p
		}
	}
	var out []model.Refusal
	for _, refusal := range refused {
		if p := there[refusal.UID]; p != nil && (p.DeletedUnix == 0 || refusal.Code == CodeDeleteFailed) {
			out = append(out, refusal)
			delete(there, refusal.UID)
		}
	}
	return out
}
