package simulator

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestNoMoreThanSoManyAtOnce runs in virtual time, so that all requests have arrived before the first is answered.
func TestNoMoreThanSoManyAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		world := Small()
		server := New(world, ServerOptions{Latency: time.Second, Faults: []Fault{{Kind: FaultStatus, Status: 429, Above: 4}}})
		c := &Client{T: t, Base: "http://simulated" + server.BasePath()}
		ask := func(r *http.Request) *httptest.ResponseRecorder {
			answer := httptest.NewRecorder()
			server.ServeHTTP(answer, r)
			return answer
		}
		var token struct {
			Text string `json:"access_token"`
		}
		require.NoError(t, json.Unmarshal(ask(c.tokenRequest()).Body.Bytes(), &token))
		c.Token = token.Text
		for range 2 {
			server.ResetLog()
			var wg sync.WaitGroup
			begin := time.Now()
			for range 12 {
				wg.Go(func() {
					answer := ask(c.Request(t.Context(), "/organizations/v1/schools"))
					if waited := time.Since(begin); answer.Code == 429 && waited > 0 {
						t.Errorf("who is turned away waited %s", waited)
					}
				})
				wg.Go(func() { ask(c.tokenRequest()) })
			}
			wg.Wait()
			require.Equal(t, time.Second, time.Since(begin))
			byStatus := map[int]int{}
			for _, entry := range server.Log() {
				if entry.Operation != OperationToken {
					byStatus[entry.Status]++
				}
			}
			require.Equal(t, map[int]int{200: 4, 429: 8}, byStatus)
		}
	})
}
