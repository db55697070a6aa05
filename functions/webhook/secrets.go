package main

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
)

const (
	leastSecret = 32              // letters
	readAgain   = 5 * time.Minute // how long a change of the secret takes to be seen at most
	retryAfter  = 10 * time.Second
	maxSecrets  = 2
	digested    = "sha256:" // before the SHA-256 of a secret, in hexadecimal: who can read the parameter cannot call the function then
)

// parameters is the one method of SSM that is used.
type parameters interface {
	GetParameter(ctx context.Context, input *ssm.GetParameterInput, options ...func(*ssm.Options)) (*ssm.GetParameterOutput, error)
}

// secrets are the paths that are good now. They are read when they are first asked for, and again when they have become old; where
// that does not work those read before stay good.
type secrets struct {
	client parameters
	name   string
	now    func() time.Time

	mu     sync.Mutex
	good   [][sha256.Size]byte
	until  time.Time // when they are read again
	failed error     // of the last try, where nothing was ever read
}

func newSecrets(client parameters, name string, now func() time.Time) *secrets {
	return &secrets{client: client, name: name, now: now}
}

// Has reports whether the text is one of the secrets. How long that takes says nothing of how much of it is right. An error says
// that none could ever be read.
func (s *secrets) Has(ctx context.Context, text string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.now().Before(s.until) {
		s.read(ctx)
	}
	if s.good == nil {
		return false, s.failed
	}
	digest, found := sha256.Sum256([]byte(text)), 0
	for i := range s.good {
		found |= subtle.ConstantTimeCompare(digest[:], s.good[i][:])
	}
	return found == 1, nil
}

func (s *secrets) read(ctx context.Context) {
	good, err := s.fetch(ctx)
	if err != nil {
		s.failed, s.until = err, s.now().Add(retryAfter)
		return
	}
	s.good, s.failed, s.until = good, nil, s.now().Add(readAgain)
}

func (s *secrets) fetch(ctx context.Context) ([][sha256.Size]byte, error) {
	out, err := s.client.GetParameter(ctx, &ssm.GetParameterInput{Name: &s.name, WithDecryption: aws.Bool(true)})
	if err != nil {
		return nil, fmt.Errorf("read SSM parameter %s: %w", s.name, err)
	}
	var texts []string
	if out.Parameter != nil {
		texts = strings.FieldsFunc(aws.ToString(out.Parameter.Value), func(r rune) bool { return r == ',' || r == ' ' || r == '\n' })
	}
	if len(texts) == 0 || len(texts) > maxSecrets {
		return nil, fmt.Errorf("SSM parameter %s has %d secrets; put one there, or two separated by a comma while they change", s.name, len(texts))
	}
	var good [][sha256.Size]byte
	for i, text := range texts {
		if sum, ok := strings.CutPrefix(text, digested); ok {
			raw, err := hex.DecodeString(sum)
			if err != nil || len(raw) != sha256.Size {
				return nil, fmt.Errorf("digest %d of SSM parameter %s is not the %d hexadecimal digits of a SHA-256; make one with printf %%s SECRET | sha256sum", i+1, s.name, 2*sha256.Size)
			}
			good = append(good, [sha256.Size]byte(raw))
			continue
		}
		if len(text) < leastSecret || strings.Contains(text, "/") {
			return nil, fmt.Errorf("secret %d of SSM parameter %s is shorter than %d letters or has a slash; make one with openssl rand -hex 32", i+1, s.name, leastSecret)
		}
		good = append(good, sha256.Sum256([]byte(text)))
	}
	return good, nil
}
