import hashlib
import importlib
import json
import sys
import time

import numpy as np

import topk
from topk import newplay


def h(x): return hashlib.sha256(x.tobytes()).hexdigest()[:16]
HOME = {"Uniform":"uniform","SAR":"sar","SuccessiveRejects":"sar","LUCB1":"lucb","Halving":"halving","Racing":"racing","AdaptiveTopK":"adaptive","OptMAI":"optmai","ImprovedTopK":"improved","MultiBanditSAR":"multi_sar","CLUCB":"clucb","CLUCBPAC":"clucb","GapE":"gape","MultiBanditGapE":"gape","UGapEb":"ugape","UGapEc":"ugape","MultiBanditUGapEb":"ugape","MultiBanditUGapEc":"ugape"}
def bandit_of(c):
    m=np.array(c["means"])
    if c["law"]=="bernoulli": return topk.BernoulliBandit(m)
    if c["law"]=="multi": return topk.MultiBandit(m)
    return topk.BetaBandit(m*SCALE,(1-m)*SCALE)
SCALE=4.0
def played(c, cls, search):
    st=cls(**c["parameters"]); b=bandit_of(c); sel,tot,pul,sms=[],[],[],[]
    for r in range(c["runs"]):
        p=newplay.Play(st,b,c["seed"],r,search=None if search=="live" else search)
        if search=="live":
            s=None
            p=newplay.Play(st,b,c["seed"],r,search=st.search_for(float("inf")))
            p.fused=False
            def absorb(counts,sums,squares,p=p):
                m=counts.size
                p.state.count(p.arms[:m],counts,sums,squares); p.state.update(p.arms[:m]); p.wanted=p.state.ask(p.arms,p.counts)
            p.absorb=absorb; p.wanted=p.state.ask(p.arms,p.counts)
        p.advance()
        o=p.outcome()
        sel.append([o.selected.tolist()]); tot.append(o.total_pulls); pul.append(o.pulls); sms.append(o.sums)
    return dict(selected=sel,total_pulls=tot,pulls=h(np.array(pul,dtype=np.int64)),sums=h(np.round(np.array(sms),9)))
if __name__=="__main__":
    data=json.load(open("/work/shared/golden/plays.json"))
    for name in [x for x in sys.argv[1:] if x in HOME] or HOME:
        cls=getattr(importlib.import_module("topk.newrules."+HOME[name]),name)
        for search in (("live",) if "live" in sys.argv else ("live",None))+(("topk_scan","topk_trees") if getattr(cls,"partition",None)=="topk" else ()):
            t=time.process_time(); bad=0; cases=[c for c in data if c["strategy"]==name and c["law"]!="nobeta"]
            for c in cases:
                got=played(c,cls,search)
                if any(got[q]!=c[q] for q in got):
                    bad+=1
                    if bad<3: print("  ",c["law"],c["parameters"],len(c["means"]),got["total_pulls"],c["total_pulls"], [q for q in got if got[q]!=c[q]])
            print(f"{name:18s} {search} {len(cases)} cases, {bad} differ, {time.process_time()-t:.1f} s",flush=True)
